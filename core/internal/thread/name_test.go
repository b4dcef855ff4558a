package thread_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What people read of a head in logs: each value has a name, and one of a newer program its
// number.
func TestNamesOfWhatAHeadHolds(t *testing.T) {
	tests := []struct {
		name string
		of   func(v uint8) fmt.Stringer
		want []string
	}{
		{"status", func(v uint8) fmt.Stringer { return thread.Status(v) }, []string{"running", "waiting", "closing", "3"}},
		{"reason", func(v uint8) fmt.Stringer { return thread.Reason(v) }, []string{"none", "own", "cancelled", "superseded", "expired", "dead-letter", "6"}},
		{"cursor", func(v uint8) fmt.Stringer { return thread.Cursor(v) }, []string{"start", "infer", "tools", "3"}},
		{"call", func(v uint8) fmt.Stringer { return thread.CallStatus(v) }, []string{"new", "running", "suspended", "resuming", "cancelling", "done", "6"}},
		{"ticket", func(v uint8) fmt.Stringer { return thread.TicketKind(v) }, []string{"person", "client", "child", "timer", "4"}},
		{"inbox", func(v uint8) fmt.Stringer { return thread.InboxKind(v) }, []string{"person", "internal", "2"}},
		{"nack", func(v uint8) fmt.Stringer { return thread.NackKind(v) }, []string{"failed", "given", "model", "lacks", "4"}},
		{"outcome", func(v uint8) fmt.Stringer { return thread.Outcome(v) }, []string{"none", "continue", "yield", "wait", "close", "done", "6"}},
		{"form", func(v uint8) fmt.Stringer { return thread.Form(v) }, []string{"whole", "bare", "cut", "stateless", "least", "unknown"}},
		{"outbox", func(v uint8) fmt.Stringer { return thread.OutboxKind(v) }, []string{"none", "child-ended", "cancel", "message", "waiting", "ended", "dead-lettered", "7"}},
	}
	for _, tt := range tests {
		var got []string
		for v := range uint8(len(tt.want)) {
			got = append(got, tt.of(v).String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What a run ends with that was not ended by its own step. Only such an end is one for a
// reason.
func TestHowARunEndsForAReason(t *testing.T) {
	tests := []struct {
		reason thread.Reason
		want   *core.Termination
	}{
		{thread.ReasonNone, nil},
		{thread.ReasonOwn, nil},
		{thread.ReasonCancelled, &core.Termination{Type: "cancelled"}},
		{thread.ReasonSuperseded, &core.Termination{Type: "superseded"}},
		{thread.ReasonExpired, &core.Termination{Type: "error", Code: "expired", Detail: "a decision did not come in time"}},
		{thread.ReasonDeadLetter, &core.Termination{Type: "error", Code: "dead_letter", Detail: "no progress in 5 attempts"}},
	}
	ends := []*core.Termination{
		nil, {Type: "natural_end"}, {Type: "cancelled"}, {Type: "superseded"}, {Type: "error", Code: "expired"}, {Type: "error", Code: "dead_letter", Detail: "in other words"},
		{Type: "error", Code: "timeout"}, {Type: "stopped", Code: "expired"},
	}
	is := map[thread.Reason][]int{thread.ReasonCancelled: {2}, thread.ReasonSuperseded: {3}, thread.ReasonExpired: {4}, thread.ReasonDeadLetter: {5}}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.reason.Termination()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		var got []int
		for i, end := range ends {
			if tt.reason.Is(end) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, is[tt.reason]) {
			t.Errorf("a run ended by %s with each of %v, want %v", tt.reason, got, is[tt.reason])
		}
	}
}

// Clients see whose refusal it is by its code, and read the text.
func TestRefusalsHaveCodes(t *testing.T) {
	tests := []struct {
		err  error
		code string
		text string
	}{
		{thread.ErrNotFound, "not_found", "not found"},
		{thread.ErrDeleted, "deleted", "it was deleted"},
		{thread.ErrForbidden, "forbidden", "it belongs to another user"},
		{thread.ErrBusy, "busy", "another run is open or queued"},
		{thread.ErrFull, "full", "no more is accepted for now"},
		{thread.ErrFenced, "fenced", "claim was lost to a later one"},
		{thread.ErrSuperseded, "superseded", "the run was superseded by an interrupt"},
		{thread.ErrClosing, "closing", "the run is ending"},
		{thread.ErrStale, "stale", "the input was changed or read in between"},
		{thread.ErrDecided, "decided", "the call was already decided otherwise"},
		{thread.ErrChild, "child", "the call waits for a child run, whose end alone decides it"},
		{thread.ErrTooLarge, "too_large", "its open and queued work is too large"},
		{thread.ErrSchema, "schema", "thread was written by a newer version of the program"},
		{thread.ErrSuspect, "suspect", "run brought no progress and must run alone"},
		{thread.ErrApplied, "applied", "commit was applied before"},
		{thread.ErrExists, "conflict", "it exists already"},
	}
	for _, tt := range tests {
		if core.CodeOf(tt.err) != core.Code(tt.code) || tt.err.Error() != tt.text {
			t.Errorf("%q has the code %s, want %q of %s", tt.err, core.CodeOf(tt.err), tt.text, tt.code)
		}
		for _, other := range tests {
			if errors.Is(tt.err, other.err) != (tt.text == other.text) {
				t.Errorf("%q is %q", tt.err, other.err)
			}
		}
	}
}

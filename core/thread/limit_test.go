package thread_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// must applies actions that have to be accepted.
func must(t *testing.T, h thread.Head, actions ...thread.Action) thread.Head {
	t.Helper()
	for _, a := range actions {
		next, effects, err := thread.Apply(h, thread.Command{Now: start, CommitID: id("commit"), Action: a})
		if err != nil || effects.Unchanged {
			t.Fatalf("%T: %v, unchanged %v", a, err, effects.Unchanged)
		}
		h = next
	}
	return h
}

// busy is a head with an open run under a claim, of 32 calls, and as many of
// everything else as asked, with a parent of that name for every run.
func busy(t *testing.T, owner, worker, parent string, each int) thread.Head {
	t.Helper()
	enqueue := func(name string) thread.Enqueue {
		return thread.Enqueue{
			Dispatch: id("d" + name), Run: id("r" + name), Priority: 255, AvailableAt: start, Dedupe: math.MaxUint64,
			Owner: owner, Parent: &thread.Parent{Thread: parent, Run: id("p"), Call: 31},
		}
	}
	h := must(t, thread.Head{},
		enqueue("0"), thread.Claim{Worker: worker, Lease: 30_000},
		thread.CommitTurn{Fence: 1, Seq: 900_000_000_000, Calls: make([]thread.CallStatus, 32)})
	for i := range each {
		e := enqueue(fmt.Sprint(i + 1))
		e.Dedupe -= uint64(i + 1)
		ticket := thread.Ticket{Call: uint8(i), ID: math.MaxUint64, Deadline: start + 86_400_000}
		h = must(t, h, e,
			thread.Input{ID: id(fmt.Sprint("i", i)), Owner: owner, Dedupe: 1<<60 + uint64(i)},
			thread.Suspend{Fence: 1, Tickets: []thread.Ticket{ticket}})
	}
	return h
}

func TestSizeOfATypicalHeadIsUnderAKilobyte(t *testing.T) {
	owner, worker, parent := strings.Repeat("o", 36), strings.Repeat("w", 36), strings.Repeat("p", 36)
	h := busy(t, owner, worker, parent, 2)
	for i := range uint64(11) { // the ring holds 16
		h = must(t, h, thread.Input{ID: id("x"), Owner: owner, Dedupe: 1<<62 + i}, thread.Retract{ID: id("x")})
	}
	if len(h.Pending) != 2 || len(h.Tickets) != 2 || len(h.Inbox) != 2 || len(h.Recent) != 16 {
		t.Fatalf("not what this is about:\n%s", describeHead(h))
	}
	if got := h.Size(); got > 1024 {
		t.Errorf("size %d bytes, at most 1024", got)
	}
}

// The largest head that can be: every table full, every name as long as it may
// be, every number large. Whoever ends or answers something is not refused.
func TestNothingOutgrowsTheHead(t *testing.T) {
	h := busy(t, longest, longest[:64], longest, 8)
	h.Version, h.Epoch, h.Fence, h.Claim.Fence, h.Claim.Epoch = math.MaxUint64-99, math.MaxUint64-99, math.MaxUint64-99, math.MaxUint64-99, math.MaxUint64-99
	h.Run.Step, h.Run.AvailableAt, h.Incarnation, h.Summary, h.DueAt = math.MaxUint32-9, math.MaxInt64, math.MaxUint64, 900_000_000_000, math.MaxInt64
	h.Notify = &thread.Notify{Child: id("c"), Parent: thread.Parent{Thread: longest, Run: id("p"), Call: 31}, Retry: math.MaxInt64}
	for len(h.Recent) < 16 {
		h.Recent = append(h.Recent, math.MaxUint64)
	}
	fence := h.Claim.Fence
	if got := h.Size(); got < 2500 || got > 3072 || got > thread.Bound(&h) {
		t.Errorf("the fullest head has %d bytes", got)
	}
	steps := []thread.Action{
		thread.Decide{Run: id("r0"), Call: 0, Decision: 12345, Resume: true},
		thread.Cancel{Run: id("r8")},
		thread.CommitStep{Fence: fence, Outcome: thread.Yield, Seq: h.Seq},
		thread.Cancel{Run: id("r0")},
		thread.Claim{Worker: longest[:64], Lease: math.MaxInt32},
		thread.Interrupt{Owner: longest},
		thread.CommitClose{Fence: fence + 1, Seq: h.Seq + 32},
		thread.Notified{Child: id("c")},
		thread.Delete{Owner: longest},
	}
	for _, a := range steps {
		h = must(t, h, a)
		if got := h.Size(); got > 4096 {
			t.Errorf("after %T the head has %d bytes", a, got)
		}
	}
	if len(h.Later) != 8 {
		t.Errorf("%d parents wait to be told, want 8 behind the first", len(h.Later))
	}
}

func TestNamesThatAreTooLongAreRefused(t *testing.T) {
	over := longest + "n"
	tests := []struct {
		name string
		a    thread.Action
		want string
	}{
		{"owner", thread.Enqueue{Dispatch: id("d"), Run: id("r"), Owner: over}, "enqueue: owner of 129 bytes, at most 128 are allowed"},
		{"parent", thread.Enqueue{Dispatch: id("d"), Run: id("r"), Parent: &thread.Parent{Thread: over}}, "enqueue: parent thread id of 129 bytes, at most 128 are allowed"},
		{"worker", thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d"), Run: id("r")}, Worker: over[:65], Lease: 1}, "claim: worker name of 65 bytes, allowed are 1 to 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := thread.Apply(thread.Head{}, thread.Command{Now: start, Action: tt.a})
			if core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSequenceHasTwelveDigits(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.Claim{Worker: "w", Lease: 30_000})
	step := func(seq uint64) error {
		_, _, err := thread.Apply(h, thread.Command{Now: start, Action: thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: seq}})
		return err
	}
	if err := step(999_999_999_999); err != nil {
		t.Errorf("the last sequence is refused: %v", err)
	}
	if err := step(1_000_000_000_000); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("error %v, want invalid", err)
	}
}

// A head from a corrupt or foreign store may be over the limit; it is not
// written back.
func TestHeadOverItsLimitIsRefused(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	h.Owner = strings.Repeat("o", 4096)
	if _, _, err := thread.Apply(h, thread.Command{Now: start, Action: thread.Claim{Worker: "w", Lease: 1}}); !errors.Is(err, thread.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

func TestZeroClockStillMakesAThreadDue(t *testing.T) {
	next, _, err := thread.Apply(thread.Head{}, thread.Command{Action: thread.Enqueue{Dispatch: id("d"), Run: id("r")}})
	if err != nil || next.DueAt != 1 {
		t.Errorf("due at %d (%v), want 1", next.DueAt, err)
	}
}

func TestNamesOfUnknownValues(t *testing.T) {
	tests := []struct{ got, want string }{
		{thread.Wait.String(), "wait"},
		{thread.Outcome(9).String(), "9"},
		{thread.CallStatus(99).String(), "99"},
		{thread.InboxInternal.String(), "internal"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestEndOfARunHasAReasonThatReadersKnow(t *testing.T) {
	tests := []struct {
		reason thread.Reason
		want   core.TerminationType
		code   string
	}{
		{thread.ReasonCancelled, "cancelled", ""},
		{thread.ReasonSuperseded, "superseded", ""},
		{thread.ReasonExpired, "error", "expired"},
		{thread.ReasonDeadLetter, "error", "dead_letter"},
	}
	for _, tt := range tests {
		if got := tt.reason.Termination(); got == nil || got.Type != tt.want || got.Code != tt.code {
			t.Errorf("%s ends with %+v, want %s %s", tt.reason, got, tt.want, tt.code)
		}
	}
	if got := thread.ReasonNone.Termination(); got != nil {
		t.Errorf("no reason ends with %+v", got)
	}
}

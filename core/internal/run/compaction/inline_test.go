package compaction_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// The summary that a step makes comes as it is stored, ready for the step's request.
func TestInlineReturnsWhatItStores(t *testing.T) {
	before := &checkpoint.Summary{Summary: thread.Summary{Text: "before"}, UpTo: 1, Message: core.UserMessage("before")}
	tests := []struct {
		name    string
		before  *checkpoint.Summary
		say     answer
		want    thread.Summary
		message string
	}{
		{"a text", nil, says("so"), thread.Summary{Incarnation: 9, Text: "so", Model: "large", Provider: "p", Usage: core.Usage{Input: 300, Output: 20}, Calls: 1},
			"<conversation-summary>\nso\n</conversation-summary>"},
		{"behind another", before, says("so"), thread.Summary{Predecessor: 1, Incarnation: 9, Text: "so", Model: "large", Provider: "p", Usage: core.Usage{Input: 300, Output: 20}, Calls: 1},
			"<conversation-summary>\nso\n</conversation-summary>"},
		{"none", nil, fails(&model.Error{Kind: model.KindInvalid}), thread.Summary{Incarnation: 9, Skipped: "model", Model: "large", Provider: "p", Calls: 1},
			"<conversation-summary>\n\n</conversation-summary>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &talker{answers: []answer{tt.say}}, setting{log: conversation()})
				got, err := w.inline(t.Context(), tt.before)
				if err != nil {
					t.Fatal(err)
				}
				message := core.Message{ID: "summary.2", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: tt.message}}}
				if diff := cmp.Diff(&checkpoint.Summary{Summary: tt.want, UpTo: 2, Schema: 1, Message: message}, got); diff != "" {
					t.Errorf("returned (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(&tt.want, w.summary(t, 2)); diff != "" {
					t.Errorf("stored (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Two that make one summary do no harm: what the first has stored counts, for both.
func TestTheFirstSummaryCounts(t *testing.T) {
	tests := []struct {
		name  string
		other thread.Summary
	}{
		{"another's text", thread.Summary{Text: "another's"}},
		{"another's reason", thread.Summary{Skipped: thread.SkippedRefused}},
		{"the same", thread.Summary{Text: "so", Model: "large", Provider: "p", Usage: core.Usage{Input: 300, Output: 20}, Calls: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &talker{answers: []answer{says("so")}}
				w := newWorld(t, m, setting{log: conversation()})
				m.during = func() {
					w.put(t, recordname.Summary(2), encoded(t)(thread.Records{}.EncodeSummary(2, &tt.other)))
				}
				got, err := w.inline(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.other, got.Summary); diff != "" || got.UpTo != 2 {
					t.Errorf("up to %d (-want +got):\n%s", got.UpTo, diff)
				}
				w.compact(t) // of a hint that came late
				if diff := cmp.Diff(&tt.other, w.summary(t, 2)); diff != "" || len(m.asked) != 1 || w.log.String() != "" {
					t.Errorf("%d calls, logged %q, stored (-want +got):\n%s", len(m.asked), w.log.String(), diff)
				}
			})
		})
	}
}

// Without a summary the step goes on where that may pass, and fails where the store has
// failed, or its own time is over.
func TestInlineWithoutASummary(t *testing.T) {
	cause := errors.New("the host stops")
	tests := []struct {
		name  string
		say   answer
		spoil func(w *world, m *talker, end func())
		want  error
	}{
		{"a model that fails for now", fails(&model.Error{Kind: model.KindOverloaded, RetryAfter: 1 << 40}), func(*world, *talker, func()) {}, nil},
		{"the store fails", says("so"), func(w *world, _ *talker, _ func()) { w.fail("Put", "", 1, errDown) }, errDown},
		{"too large for the store", says("so"), func(w *world, _ *talker, _ func()) { w.fail("Put", "", 1, store.ErrTooLarge) }, store.ErrTooLarge},
		{"the step's time is over", says("so"), func(_ *world, m *talker, end func()) { m.during = end }, cause},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				m := &talker{answers: []answer{tt.say}}
				w := newWorld(t, m, setting{log: conversation()})
				tt.spoil(w, m, func() { end(cause) })
				got, err := w.inline(ctx, nil)
				if got != nil || !errors.Is(err, tt.want) || w.summary(t, 2) != nil {
					t.Errorf("%+v and %v, want no summary and %v", got, err, tt.want)
				}
			})
		})
	}
}

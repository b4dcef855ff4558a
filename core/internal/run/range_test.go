package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// Input that stands in a range which was taken back, or right behind the record of one, has
// its own range begin where that one does, and what lies further behind begins a new one.
func TestWhereARangeBegins(t *testing.T) {
	tests := []struct {
		name string
		from []uint64 // that each input takes back; 0: nothing. Each is two records, with the record of a range three
		want []string // ranges that are named, by the records in their order
	}{
		{"what comes right behind the record", []uint64{0, 0, 3, 6}, []string{"5: {3 4} []", "8: {3 7} []"}},
		{"what lies in a range", []uint64{0, 0, 3, 3}, []string{"5: {3 4} []", "8: {3 7} []"}},
		{"what lies before a range", []uint64{0, 0, 3, 1}, []string{"5: {3 4} []", "8: {1 7} []"}},
		{"what comes later", []uint64{0, 1, 0, 6}, []string{"3: {1 2} []", "8: {6 7} [{1 2}]"}},
		{"each time the newest", []uint64{0, 1, 0, 6, 0, 11}, []string{"3: {1 2} []", "8: {6 7} [{1 2}]", "13: {11 12} [{6 7} {1 2}]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{})
				for _, from := range tt.from {
					if _, err := w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("hi")},
					}); err != nil {
						t.Fatal(err)
					}
					w.finish(t, key, nil)
				}
				if diff := cmp.Diff(tt.want, w.ranges(t)); diff != "" {
					t.Errorf("ranges (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What was asked right behind input that no model has answered is another range.
func TestARangeBehindAnUnansweredQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if n++; n == 2 {
				return replies([]model.Delta{{Text: "not that"}})(ctx, model.Request{})
			}
			return replies(text("ok"))(ctx, model.Request{})
		})})
		for _, from := range []uint64{0, 1, 0, 5} { // the second has no answer
			if _, err := w.box.Submit(t.Context(), mailbox.Submission{
				Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("hi")},
			}); err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}
		if diff := cmp.Diff([]string{"3: {1 2} []", "7: {5 6} [{1 2}]"}, w.ranges(t)); diff != "" {
			t.Errorf("ranges (-want +got):\n%s", diff)
		}
	})
}

// ranges are the records of the log that take something back, with the ranges before them.
func (w *world) ranges(t *testing.T) (lines []string) {
	t.Helper()
	for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
		e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		if e.Superseded != nil {
			lines = append(lines, fmt.Sprint(seq, ": ", *e.Superseded, " ", e.Earlier))
		}
	}
	return lines
}

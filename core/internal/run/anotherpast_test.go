package run_test

import (
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A summary that another one has overtaken is not used, nor one of another thread, of
// which a refused fork left a copy.
func TestASummaryOfAnotherPastIsNotUsed(t *testing.T) {
	for _, tt := range []struct {
		name        string
		summary     thread.Summary
		incarnation int // in addition to the thread's
		used        bool
	}{
		{"stale", thread.Summary{Predecessor: 1, Text: "of another past"}, 0, false},
		{"of another thread", thread.Summary{Text: "of another past"}, 1, false},
		{"its own", thread.Summary{Text: "fine"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) { checkUse(t, tt.summary, tt.incarnation, tt.used) })
	}
	t.Run("an older program's", func(t *testing.T) {
		if s := (thread.Summary{Text: "fine"}); s.Foreign(7) {
			t.Error("it counts as another thread's")
		}
	})
}

// checkUse puts a summary under the name of the one that the third turn has requested.
func checkUse(t *testing.T, summary thread.Summary, incarnation int, used bool) {
	synctest.Test(t, func(t *testing.T) {
		said, hints := &summaries{}, &compactions{}
		w := newWorld(t, options{model: short(said), context: compacting(compaction.Background), compact: hints.add})
		for n := range 3 {
			w.ask(t, n, 0)
		}
		summary.Incarnation = w.head(t, key).Incarnation + uint64(incarnation)
		payload, err := thread.Records{}.EncodeSummary(2, &summary)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload}); err != nil {
			t.Fatal(err)
		}
		hints.follow(t, w.stepper)
		w.ask(t, 3, 0)
		if used {
			if got := w.head(t, key).Summary; got != 2 || said.made != 0 {
				t.Errorf("the head's summary is %d, %d were made", got, said.made)
			}
			return
		}
		if got := w.window(t); w.head(t, key).Summary != 0 || got.Compact != 0 || got.Skipped != 2 || said.made != 0 {
			t.Errorf("the head's summary is %d, the turn's record says %+v", w.head(t, key).Summary, got)
		}
	})
}

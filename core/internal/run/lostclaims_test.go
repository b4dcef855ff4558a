package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A run whose first claims are lost began with the first of them, and its record has the
// times of all.
func TestARunBeginsWithItsFirstClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		began := time.Now().UnixMilli()
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 2 { // two processes that die before anything is stored
			w.take(t, key)
			time.Sleep(40 * time.Second)
		}
		w.finish(t, key, nil)
		r := w.runRecord(t, receipt.RunID)
		if r.StartedAt != began || r.FinishedAt != began+80_000 || r.Takeovers != 2 {
			t.Errorf("the run lasts from %d to %d, with %d takeovers; want %d, 80 s more, and 2", r.StartedAt, r.FinishedAt, r.Takeovers, began)
		}
		want := []thread.Loss{
			{Step: 1, Claimed: began, Lost: began + 30_000, Began: began + 40_000},
			{Step: 1, Claimed: began + 40_000, Lost: began + 70_000, Began: began + 80_000},
		}
		if diff := cmp.Diff(want, r.Losses); diff != "" {
			t.Errorf("what was lost (-want +got):\n%s", diff)
		}
		if turn := w.entry(t, 2); turn.At != began+80_000 || turn.Queued != 10_000 {
			t.Errorf("the step began at %d, due for %d ms; want %d and 10 s", turn.At, turn.Queued, began+80_000)
		}
	})
}

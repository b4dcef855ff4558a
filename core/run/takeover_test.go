package run_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// TestAWorkerThatLostItsClaimStopsAtItsNextLook: it would pay for its inference
// to the end otherwise, and renew the lease of the worker that has the run now.
func TestAWorkerThatLostItsClaimStopsAtItsNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "slow: 600", mailbox.ModeQueue)
		head, began := w.take(t, key), time.Now()
		var taken thread.Head
		time.AfterFunc(3*time.Second, func() {
			if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
				t.Error(err)
			}
			taken = w.take(t, key)
		})
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if took := time.Since(began); !errors.Is(err, thread.ErrFenced) || took != 4*time.Second {
			t.Errorf("the step ended with %v after %s, want ErrFenced after 4s", err, took)
		}
		if now := w.head(t, key); now.Claim != taken.Claim || now.Version != taken.Version {
			t.Errorf("the other worker's claim is %+v, want it as it was, %+v", now.Claim, taken.Claim)
		}
	})
}

package run_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A step whose every remedy fails in its turn is given back behind the fourth.
func TestHowOftenAStepChangesItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, refused := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) > 0 {
				refused++
				return store.Outcome{}, thread.ErrTooLarge
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || stepped.Head.Run.Attempts != 1 || refused != 5 {
			t.Errorf("the step is %+v, %v behind %d writes; want it given back behind 5", stepped, err, refused)
		}
	})
}

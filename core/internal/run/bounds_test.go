package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
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

// A run whose record is lost ends under the name that its input has: a claim that cannot read
// that is given back, and the next one tries again.
func TestARunWhoseRecordIsLostEndsUnderTheNameOfItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got notebook
		o := options{model: turns(says(calls("echo", `{"text":"a"}`)...), one), logger: got.logger()}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		w.stepper = w.other(t, o)
		w.spoil(t, recordname.Run(receipt.RunID))
		refused := 0
		w.store.read = func(what string) error {
			if strings.HasPrefix(what, "Q#") && refused == 0 {
				refused++
				return core.Errorf(core.CodeInvalid, "no such table")
			}
			return nil
		}
		const given = `level=WARN msg="step released, will be retried"`
		if stepped := w.step(t, key); !stepped.Retry || refused != 1 || len(got.lines) != 2 || !strings.HasPrefix(got.lines[1], given) || !strings.HasSuffix(got.lines[1], `no such table"`) {
			t.Errorf("the step is %+v; the log says %q", stepped, got.lines)
		}
		w.finish(t, key, nil)
		w.store.spoiled = nil
		if r := w.runRecord(t, receipt.RunID); r.AgentID != "demo" || r.Dispatch != receipt.DispatchID || r.Termination == nil || r.Termination.Code != "corrupt" {
			t.Errorf("the record is %+v", r)
		}
	})
}

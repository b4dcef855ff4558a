package run_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// A worker that hears of its claim when the lease is over takes the next fence before it
// asks anybody: the claim is its own for another lease then, or it is another's.
func TestAClaimThatIsHeardOfLateIsRefencedFirst(t *testing.T) {
	tests := []struct {
		name      string
		after     time.Duration
		meanwhile func(t *testing.T, w *world, r mailbox.Receipt)
		err       error
		asked     int
		fence     uint64
		lease     time.Duration // left of it when the model is asked
		ends      core.TerminationType
	}{
		{"in time", 30 * time.Second, nil, nil, 1, 1, 0, core.TerminationNatural},
		{"late", 30*time.Second + time.Millisecond, nil, nil, 1, 2, 30 * time.Second, core.TerminationNatural},
		{"taken over", 31 * time.Second, func(t *testing.T, w *world, _ mailbox.Receipt) { w.take(t, key) }, thread.ErrFenced, 0, 2, 0, ""},
		{"cancelled", 31 * time.Second, func(t *testing.T, w *world, r mailbox.Receipt) {
			if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
				t.Error(err)
			}
		}, nil, 0, 2, 0, core.TerminationCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				asked := 0
				var lease time.Duration
				w = newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
					asked++
					lease = time.UnixMilli(w.head(t, key).Claim.Lease).Sub(time.Now().Truncate(time.Millisecond))
					return replies([]model.Delta{say("a"), {Type: model.DeltaStop, Stop: core.StopEndTurn}})(ctx, r)
				})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				time.Sleep(time.Until(time.UnixMilli(head.Claim.Lease).Add(tt.after - 30*time.Second)))
				if tt.meanwhile != nil {
					tt.meanwhile(t, w, receipt)
				}
				var positions []string
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, func(e core.Event) error {
					if e.Type == core.EventTextDelta {
						positions = append(positions, e.Position)
					}
					return nil
				})
				if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
					t.Fatalf("step: %v, want %v", err, tt.err)
				}
				if asked != tt.asked || lease != tt.lease {
					t.Errorf("the model was asked %d times, with %s left; want %d and %s", asked, lease, tt.asked, tt.lease)
				}
				if now := w.head(t, key); now.Fence != tt.fence {
					t.Errorf("the fence is %d, want %d", now.Fence, tt.fence)
				}
				if tt.err != nil {
					return
				}
				if end := w.runRecord(t, receipt.RunID).Termination; stepped.Outcome != thread.Done || end == nil || end.Type != tt.ends {
					t.Errorf("the step ends in %s, the run in %+v", stepped.Outcome, end)
				}
				for _, at := range positions {
					if p, err := position.Parse(at); err != nil || p.Attempt != tt.fence {
						t.Errorf("an event stands at %s, want it under fence %d", at, tt.fence)
					}
				}
			})
		})
	}
}

// A person's Stop that is heard while the step takes the next fence does not keep the step
// from hearing that it has it: else the run were nobody's until the lease ends.
func TestAFenceThatIsTakenIsSeenThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(text("ok"))})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		time.Sleep(31 * time.Second) // the lease is over: the step takes the next fence first
		stops := true
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if !stops {
				return w.store.Backend.Commit(ctx, key, c)
			}
			stops = false
			outcome, err := w.store.Backend.Commit(context.WithoutCancel(ctx), key, c)
			if _, stopped := w.box.Cancel(t.Context(), key, receipt.RunID); stopped != nil {
				t.Error(stopped)
			}
			time.Sleep(10 * time.Second) // the watch has looked
			if ctx.Err() != nil {
				return store.Outcome{}, context.Cause(ctx)
			}
			return outcome, err
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || stepped.Outcome != thread.Done {
			t.Fatalf("the step is %+v, %v; want the run closed by the claim that it has", stepped, err)
		}
		if end := w.runRecord(t, receipt.RunID).Termination; end == nil || end.Type != core.TerminationCancelled {
			t.Errorf("the run ends in %+v", end)
		}
	})
}

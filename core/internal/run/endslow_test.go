package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// The watch may see the head by which a step begins to end its run before the step has the
// answer of its write: the step goes on to the end all the same, and does nothing twice.
func TestHeadOfAnEndThatTheWatchSeesBeforeTheStep(t *testing.T) {
	tests := []struct {
		name string
		does turn
		end  string
	}{
		{"failed", breaks(&model.Error{Kind: model.KindInvalid, Message: "no"}), `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"natural", one, `done 1 {"type":"natural_end"} "one"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran []error
				w := newWorld(t, options{model: turns(tt.does), plugins: []plugin.Plugin{
					hooks(core.PhaseRunEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
						ran = append(ran, context.Cause(ctx))
						return state.Command{}, nil
					}),
				}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head, looks := w.take(t, key), 0
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					outcome, err := w.store.Backend.Commit(ctx, key, c)
					if c.Head.Open() {
						time.Sleep(3 * time.Second)
					}
					return outcome, err
				}
				w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
					looks++
					return w.store.Backend.Head(ctx, key)
				}
				_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if diff := cmp.Diff([]error{nil}, ran); diff != "" || err != nil || looks != 2 {
					t.Errorf("the step comes to %v behind %d looks at the head; RunEnd ran with (-want +got):\n%s", err, looks, diff)
				}
				w.store.OnHead = nil
				if end := w.end(t, key, receipt); end != tt.end {
					t.Errorf("the run is %s, want %s", end, tt.end)
				}
			})
		})
	}
}

package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A process that meters nothing does not look for what a run had used when it was resumed: it
// has the run's record already.
func TestAProcessThatMetersNothingDoesNotReadTheRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{model: replies(calls("echo", `{"text":"a"}`), text("ok")), plugins: []plugin.Plugin{asking("echo")}}
		w := metered(t, o)
		w.stepper = w.other(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		w.mustDecide(t, 0, approve)
		w.store.read = func(what string) error {
			if what == recordname.Run(receipt.RunID) {
				t.Error("the run's record is read")
			}
			return nil
		}
		w.step(t, key)
	})
}

// No mark is looked for where no model is asked: in a step that finds its turn in the log, and
// in one that closes a run.
func TestTheMarkIsNotReadWhereNoModelIsAsked(t *testing.T) {
	rests := toolFunc{name: "rests", run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(9 * time.Second)
		return tool.NewResult("rested"), nil
	}}
	tests := []struct {
		name  string
		model model.Model
		act   func(t *testing.T, w *world, r mailbox.Receipt)
	}{
		{"a round that was decided", replies(calls("rests", "{}"), text("ok")), func(t *testing.T, w *world, _ mailbox.Receipt) {
			w.step(t, key)
			w.mustDecide(t, 0, approve)
		}},
		{"a run that closes", replies(text("ok")), func(t *testing.T, w *world, r mailbox.Receipt) {
			w.take(t, key)
			cancelRun(t, w, &trace{}, r)
			w.reclaim(t)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: tt.model, tools: []tool.Tool{rests}, chunks: true,
					plugins: []plugin.Plugin{asking("rests"), pluginFunc{"ends", func(r *plugin.Registrar) {
						r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) {
							time.Sleep(9 * time.Second)
							return state.Command{}, nil
						})
					}}},
				})
				tt.act(t, w, w.submit(t, key, "hi", mailbox.ModeQueue))
				head, began := w.take(t, key), time.Now()
				w.store.OnRecords = func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
					if prefix == recordname.Follow {
						t.Errorf("the mark is read after %s", time.Since(began))
					}
					return w.store.Backend.Records(ctx, key, prefix, after, limit)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil || time.Since(began) != 9*time.Second {
					t.Errorf("the step has taken %s: %v", time.Since(began), err)
				}
			})
		})
	}
}

package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// saysOne is a model that says ok at the cost of five tokens, and counts how often.
func saysOne(asked *int) modelFunc {
	return func(ctx context.Context, _ model.Request) iterator {
		*asked++
		return turns(one)(ctx, model.Request{})
	}
}

// What a step of a tenant that has limits comes to where something beside its model fails:
// it is given back and tried again, or its run ends with it.
func TestWhatFailsBesideTheModelOfAStep(t *testing.T) {
	const back = `level=WARN msg="step released, will be retried" step=1 kind=failed pause=0s error="`
	tests := []struct {
		name  string
		limit int64
		spoil func(w *world)
		hook  error // of AfterInference
		asked int
		want  []string
	}{
		{"nothing", 100, func(*world) {}, nil, 1, []string{`done 1 {"type":"natural_end"} "one"`}},
		{"the look at the tenant", 100, func(w *world) {
			w.store.OnAdmission = func(context.Context, string, int64) (store.Admission, error) { return store.Admission{}, errPassing }
		}, nil, 1, []string{
			strings.Replace(back, "step=1", "step=0", 1) + `look at the limits of the tenant: the store is too slow"`, `done 1 {"type":"natural_end"} "one"`,
		}},
		{"the charge of its turn", 100, func(w *world) {
			w.store.OnCharge = func(context.Context, string, store.Use) (store.Admission, bool, error) {
				return store.Admission{}, false, errPassing
			}
		}, nil, 2, []string{`run RUN of thread t/t1: charge the tenant: charge run RUN: the store is too slow` + "\n" + `charge the tenant: charge run RUN: the store is too slow`, `done 1 {"type":"natural_end"} "one"`}},
		{"the hook behind its model", 100, func(*world) {}, errors.New("not this way"), 1, []string{
			`level=WARN msg="run ends with an error" step=1 code=plugin detail="phase after_inference: plugin \"hooks\" failed" error="phase after_inference: plugin \"hooks\" in phase after_inference: not this way"`,
			`done 0 {"type":"error","code":"plugin","detail":"phase after_inference: plugin \"hooks\" failed"} ""`,
		}},
		{"the release of its slot", 100, func(w *world) {
			w.store.OnRelease = func(context.Context, string, store.Use) (bool, error) { return false, errPassing }
		}, nil, 1, []string{
			`level=WARN msg="slot not released, the sweep will release it" step=1 error="release the slot of run RUN: the store is too slow"`, `done 1 {"type":"natural_end"} "one"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				asked := 0
				e := drawing(0)
				w := newWorld(t, options{
					env: e, model: saysOne(&asked), limits: account.Limits{TokensADay: tt.limit}, logger: got.logger(),
					plugins: []plugin.Plugin{hooks(core.PhaseAfterInference, func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, tt.hook })},
				})
				tt.spoil(w)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
					got.note("%v", err)
					w.reclaim(t)
				}
				w.store.OnAdmission, w.store.OnCharge, w.store.OnRelease = nil, nil, nil
				w.finish(t, key, nil)
				lines := append(got.lines, w.end(t, key, receipt))
				for i := range lines {
					lines[i] = strings.ReplaceAll(lines[i], receipt.RunID.String(), "RUN")
				}
				if diff := cmp.Diff(tt.want, lines); diff != "" || asked != tt.asked {
					t.Errorf("behind %d calls of the model, want %d (-want +got):\n%s", asked, tt.asked, diff)
				}
			})
		})
	}
}

// A tenant over its limit has no model asked: its run says which limit it is.
func TestARunOverALimitSaysWhich(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWorld(t, options{model: saysOne(&asked), limits: account.Limits{TokensADay: 4}, failed: func(id core.ID, cause error) { t.Errorf("run %s has failed: %v", id, cause) }})
		var ends []string
		for range 2 {
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			ends = append(ends, w.end(t, key, receipt))
		}
		want := []string{`done 1 {"type":"natural_end"} "one"`, `done 0 {"type":"stopped","code":"tenant_limit","detail":"limit tokens_a_day of the tenant is reached: 5 of 4, until 2000-01-02T00:00:00Z"} ""`}
		if diff := cmp.Diff(want, ends); diff != "" || asked != 1 {
			t.Errorf("behind %d calls of the model, want one (-want +got):\n%s", asked, diff)
		}
	})
}

// A run that closes for want of time is given back, and does not end otherwise than it was to.
func TestAClosingRunThatHasNoTimeLeftIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got notebook
		hangs := 1
		w := newWorld(t, options{env: drawing(0), logger: got.logger(), model: replies(calls("echo", `{"text":"a"}`)), plugins: []plugin.Plugin{
			hooks(core.PhaseRunEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
				if hangs--; hangs < 0 {
					return state.Command{}, nil
				}
				<-ctx.Done()
				return state.Command{}, ctx.Err()
			}),
		}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		cancelRun(t, w, &trace{}, receipt)
		stepped, err := w.cut(t, 10*time.Second, true)
		if err != nil || !stepped.Retry {
			t.Errorf("the step is %+v, %v; want it given back", stepped, err)
		}
		w.finish(t, key, nil)
		got.lines = append(got.lines, w.end(t, key, receipt))
		want := []string{
			`level=WARN msg="step released, will be retried" step=1 kind=failed pause=0s error="run end: context deadline exceeded"`,
			`done 1 {"type":"cancelled"} ""`,
		}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

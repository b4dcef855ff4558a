package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// The record that stands in the place of a turn says what failed, how often and when, and
// nothing that only the log may have.
func TestTheRecordOfAFailedInference(t *testing.T) {
	half, cost := model.Delta{Type: model.DeltaText, Text: "half"}, model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 7}}
	fails := func(err error) func(yield func(model.Delta, error) bool) {
		return func(yield func(model.Delta, error) bool) {
			if yield(cost, nil) && yield(half, nil) && err != nil {
				yield(model.Delta{}, err)
			}
		}
	}
	tests := []struct {
		name string
		err  error // nil: the stream just ends
		want thread.Failure
	}{
		{"a stream that breaks off", nil, thread.Failure{Kind: "interrupted", Text: "the model failed", Calls: 3}},
		{"a provider that is busy", &model.Error{Kind: model.KindOverloaded, Message: "10.0.0.7 is busy"}, thread.Failure{Kind: "overloaded", Text: "the model failed", Calls: 3}},
		{"a failure that says more for clients", &model.Error{Kind: model.KindUnauthorized, Public: "no key"}, thread.Failure{Kind: "unauthorized", Text: "no key", Calls: 1}},
		{"a failure whose provider says no kind", &model.Error{Message: "10.0.0.7"}, thread.Failure{Kind: "other", Text: "the model failed", Calls: 1}},
		{"a failure of no kind", errors.New("10.0.0.7"), thread.Failure{Kind: "other", Text: "the model failed", Calls: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := modelFunc(func(context.Context, model.Request) iterator { return fails(tt.err) })
				var log strings.Builder
				w := newWorld(t, options{env: drawing(0), model: m, stop: []agent.StopPolicy{consecutiveErrors(1)}, logger: warnings(&log)})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				tt.want.At = time.Now().UnixMilli()
				tt.want.Usage.Input = 7 * tt.want.Calls
				w.finish(t, key, listener)
				if diff := cmp.Diff(&tt.want, w.entry(t, 2).Failed); diff != "" {
					t.Errorf("the record (-want +got):\n%s", diff)
				}
				line := fmt.Sprintf(`msg="inference failed, the run continues" tenant=t thread=t1 run=%s step=1 kind=%s failed=%d steps=1 error=`, receipt.RunID, tt.want.Kind, tt.want.Calls)
				if strings.Count(log.String(), line) != 1 {
					t.Errorf("the log says %s\nwant one line %s", log.String(), line)
				}
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 1 {"type":"stopped","code":"consecutive_errors"`) {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// A failed inference that cannot be told or charged now is no step: it is given back, and
// what the next try comes to stands alone.
func TestAFailedInferenceThatTheStoreDoesNotTake(t *testing.T) {
	down := core.Errorf(core.CodeInvalid, "no such table")
	tests := []struct {
		name   string
		limits account.Limits
		spoil  func(w *world)
		told   []string
	}{
		{"its fence", account.Limits{}, func(w *world) {
			refused := false
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if !refused {
					refused = true
					return store.Outcome{}, down
				}
				return w.store.Backend.Commit(ctx, key, c)
			}
		}, []string{"run_start", "step_start", "text_delta half"}},
		{"its charge", account.Limits{TokensADay: 1000}, func(w *world) {
			refused := false
			w.store.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
				if !refused {
					refused = true
					return store.Admission{}, false, down
				}
				return w.store.Backend.Charge(ctx, tenant, c)
			}
		}, []string{"run_start", "step_start", "text_delta half", "step_restarted", "step_start"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				m := modelFunc(func(ctx context.Context, r model.Request) iterator {
					if calls++; calls > 1 {
						return replies(text("ok"))(ctx, model.Request{})
					}
					return func(yield func(model.Delta, error) bool) {
						if yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 7}}, nil) && yield(model.Delta{Type: model.DeltaText, Text: "half"}, nil) {
							yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized})
						}
					}
				})
				w := newWorld(t, options{agents: spec(t, m, agent.Spec{}), limits: tt.limits, stop: []agent.StopPolicy{consecutiveErrors(9)}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var heard events
				began := core.Millis(time.Now().UnixMilli())
				head := w.take(t, key)
				tt.spoil(w)
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, func(e core.Event) error {
					if e.Type == core.EventStepStart && (e.Time != began || e.MessageID != receipt.RunID.String()+".1") {
						t.Errorf("the step starts with %+v", e)
					}
					return heard.sink(e)
				})
				if err != nil || !stepped.Retry || stepped.Head.Seq != 0 {
					t.Errorf("the step is %+v, %v; want it given back", stepped, err)
				}
				if diff := cmp.Diff(tt.told, heard.lines); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				w.store.OnCommit, w.store.OnCharge = nil, nil
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{"user: hi", "assistant: ok"}, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// What a failed inference has used counts for the limits of its tenant, which end a run that
// would tolerate the failure.
func TestAFailedInferenceThatUsesUpALimit(t *testing.T) {
	for tokens, want := range map[int64]string{7: `done 1 {"type":"stopped","code":"tenant_limit"`, 100: `done 2 {"type":"natural_end"} "ok"`} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			var used []core.Usage
			m := modelFunc(func(ctx context.Context, r model.Request) iterator {
				if calls++; calls > 1 {
					return replies(text("ok"))(ctx, model.Request{})
				}
				return func(yield func(model.Delta, error) bool) {
					if yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 7}}, nil) {
						yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized})
					}
				}
			})
			w := newWorld(t, options{
				agents: demo(t, m, agent.Spec{}, hooks(core.PhaseStepStart, func(_ context.Context, c plugin.Context) (state.Command, error) {
					used = append(used, c.Usage)
					return state.Command{}, nil
				})),
				limits: account.Limits{TokensADay: tokens}, stop: []agent.StopPolicy{consecutiveErrors(9)},
			})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			if got := w.end(t, key, receipt); !strings.HasPrefix(got, want) {
				t.Errorf("of %d tokens a day: the run is %s, want %s", tokens, got, want)
			}
			if diff := cmp.Diff([]core.Usage{{}, {Input: 7}}[:calls], used); diff != "" {
				t.Errorf("of %d tokens a day: hooks were shown (-want +got):\n%s", tokens, diff)
			}
		})
	}
}

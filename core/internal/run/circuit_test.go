package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// circuits collects what a stream tells of circuits and of switches, with the time.
type circuits struct {
	began time.Time
	lines []string
}

func (c *circuits) sink(e core.Event) error {
	at := time.Since(c.began)
	switch e.Type {
	case core.EventModelCircuit:
		c.lines = append(c.lines, fmt.Sprintf("%s %s %s for %d ms", at, e.Model, e.Status, e.Wait))
	case core.EventModelSwitch:
		c.lines = append(c.lines, fmt.Sprintf("%s from %s to %s: %s", at, e.From, e.Model, e.Reason))
	case core.EventInferenceRetry:
		c.lines = append(c.lines, fmt.Sprintf("%s retry in %d ms", at, e.Wait))
	}
	return nil
}

// A model that has failed five times in a row, in whichever runs, is not called for 30 s,
// which costs no run any of its calls; then one call probes. Another process calls it all
// the while.
func TestAnOpenCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := &cutting{calls: [][]model.Delta{{}, {}, {}, {}, {}, {}, {say("up"), stopped}}, failure: &model.Error{Kind: model.KindProvider, Message: "down"}, began: time.Now()}
		o := options{env: drawing(0), agents: spec(t, m, agent.Spec{Retry: agent.Retry{MaxRetries: new(2)}}), logger: slog.New(slog.NewTextHandler(&log, nil))}
		w := newWorld(t, o)
		m.world = w
		seen := &circuits{began: time.Now()}
		first := w.submit(t, key, "one", mailbox.ModeQueue)
		w.finish(t, key, seen.sink) // three calls
		other := core.ThreadKey{Tenant: "t", Thread: "t2"}
		second := w.submit(t, other, "two", mailbox.ModeQueue)
		w.finish(t, other, seen.sink) // two more, which open it, and the probe, which fails
		if end := w.end(t, key, first); !strings.Contains(end, `"code":"model"`) {
			t.Errorf("the first run is %s", end)
		}
		if end := w.end(t, other, second); !strings.Contains(end, `"code":"model"`) {
			t.Errorf("the second run is %s", end)
		}
		third := core.ThreadKey{Tenant: "t", Thread: "t3"}
		receipt := w.submit(t, third, "three", mailbox.ModeQueue)
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: third, Head: w.take(t, third)}, seen.sink)
		if r := w.head(t, third).Run; err != nil || !stepped.Retry || r.ModelFailed != 0 || r.Attempts != 0 || r.AvailableAt != time.Now().Add(30*time.Second).UnixMilli() {
			t.Fatalf("the step is %+v, %v, and leaves the run as %+v; want it given back without a failed call or an attempt, for 30 s", stepped, err, r)
		}
		here, fourth := w.stepper, core.ThreadKey{Tenant: "t", Thread: "t4"}
		w.stepper = w.other(t, o)
		receipts := []mailbox.Receipt{w.submit(t, fourth, "four", mailbox.ModeQueue), receipt}
		w.finish(t, fourth, seen.sink)
		w.stepper = here
		w.finish(t, third, seen.sink)
		for i, key := range []core.ThreadKey{fourth, third} {
			if end, want := w.end(t, key, receipts[i]), fmt.Sprintf(natural, 1, "up"); end != want {
				t.Errorf("the run of %s is %s, want %s", key, end, want)
			}
		}
		want := []string{
			"0s retry in 0 ms", "0s retry in 0 ms",
			"0s retry in 0 ms", "0s m open for 30000 ms", "0s retry in 30000 ms",
			"30s m half_open for 0 ms", "30s m open for 30000 ms",
			"30s m open for 30000 ms", // the third run is refused, the fourth is another process's
			"1m0s m half_open for 0 ms", "1m0s m closed for 0 ms",
		}
		if diff := cmp.Diff(want, seen.lines); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := len(m.at); got != 8 {
			t.Errorf("the model was called %d times, want 8", got)
		}
		for want, times := range map[string]int{"circuit=open wait=30s": 3, "circuit=half_open wait=0s": 2, "circuit=closed wait=0s": 1} {
			if n := strings.Count(log.String(), "model=m "+want); n != times {
				t.Errorf("the log has %d lines with %s, want %d:\n%s", n, want, times, &log)
			}
		}
	})
}

// What says nothing about the model, opens no circuit: a call that was cancelled, a
// request that it refuses, and a stream that broke off after the model had spoken.
func TestWhatOpensNoCircuit(t *testing.T) {
	tests := []struct {
		name    string
		failure error
		cancels bool
		says    []model.Delta
		runs    int
		calls   int // of them all
	}{
		{"requests that are at fault", &model.Error{Kind: model.KindInvalid, Message: "no"}, false, nil, 7, 7},
		{"a key that is unknown", &model.Error{Kind: model.KindUnauthorized, Message: "no"}, false, nil, 7, 7},
		{"an error that no provider has classed", fmt.Errorf("no"), false, nil, 7, 7},
		{"calls that a person ends", &model.Error{Kind: model.KindProvider, Message: "cancelled"}, true, nil, 7, 7},
		{"failures after text", &model.Error{Kind: model.KindInterrupted, Message: "cut"}, false, []model.Delta{say("a")}, 7, 7},
		{"failures after reasoning", &model.Error{Kind: model.KindOverloaded, Message: "busy"}, false, []model.Delta{{Type: model.DeltaReasoning, Text: "hm"}}, 7, 7},
		{"failures in a tool call", &model.Error{Kind: model.KindInterrupted, Message: "cut"}, false, []model.Delta{{Type: model.DeltaToolStart, Name: "echo"}}, 7, 7},
		{"failures after a count alone open it", &model.Error{Kind: model.KindInterrupted, Message: "cut"}, false, []model.Delta{{Type: model.DeltaUsage}}, 6, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cutting{calls: [][]model.Delta{tt.says}, failure: tt.failure, began: time.Now()}
				called := modelFunc(func(ctx context.Context, r model.Request) iterator {
					if tt.cancels {
						<-ctx.Done()
					}
					return m.Stream(ctx, r)
				})
				w := newWorld(t, options{env: drawing(0), agents: spec(t, called, agent.Spec{Retry: agent.Retry{MaxRetries: new(0)}})})
				m.world = w
				for range tt.runs {
					w.submit(t, key, "hi", mailbox.ModeQueue)
					ctx, cancel := context.WithCancelCause(t.Context())
					if tt.cancels {
						time.AfterFunc(time.Second, func() { cancel(context.Canceled) })
					}
					head := w.take(t, key)
					if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, nil); err != nil {
						t.Fatal(err)
					}
					cancel(nil)
				}
				if len(m.at) != tt.calls {
					t.Errorf("the model is called %d times, want %d", len(m.at), tt.calls)
				}
			})
		})
	}
}

// A pool does not wait for a member whose circuit is open, and waits for the first that
// lets a call through when all are.
func TestAPoolWithOpenCircuits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := busy(model.KindProvider, 0)
		east, west := always(failing), always(failing)
		east.name, west.name = "east", "west"
		m := newMarket(t, func(_ *agent.ModelPoolSpec, s *agent.Spec) {
			s.Retry.MaxRetries, s.Retry.BackoffBaseMS = new(9), new(0)
		}, &east, &west)
		m.env = drawing(0)
		m.stepper = m.other(t, m.options)
		seen := &circuits{began: time.Now()}
		receipt := m.submit(t, key, "hi", mailbox.ModeQueue)
		step := func() {
			t.Helper()
			if _, err := m.stepper.Step(t.Context(), run.Work{Key: key, Head: m.take(t, key)}, seen.sink); err != nil {
				t.Fatal(err)
			}
		}
		step() // five calls of east, then four of west
		if got := strings.Join(*m.log, " "); got != "east 1 east 1 east 1 east 1 east 1 west 1 west 1 west 1 west 1 west 1" {
			t.Errorf("calls %s", got)
		}
		if end := m.end(t, key, receipt); !strings.Contains(end, `m-east: provider, m-west: provider`) {
			t.Errorf("the run is %s", end)
		}
		*m.log = nil
		time.Sleep(10 * time.Second)
		m.submit(t, key, "again", mailbox.ModeQueue)
		step()
		if r := m.head(t, key).Run; len(*m.log) != 0 || r.ModelFailed != 0 || r.AvailableAt != time.Now().Add(20*time.Second).UnixMilli() {
			t.Errorf("calls %s; the run is %+v, want it given back for 20 s", *m.log, r)
		}
		delete(west.fails, 6)
		delete(east.fails, 6)
		east.calls, west.calls = [][]model.Delta{thought("e")}, [][]model.Delta{thought("w")}
		m.finish(t, key, seen.sink)
		want := []string{
			"0s retry in 0 ms", "0s retry in 0 ms", "0s retry in 0 ms", "0s retry in 0 ms",
			"0s m-east open for 30000 ms", "0s from m-east to m-west: provider",
			"0s retry in 0 ms", "0s retry in 0 ms", "0s retry in 0 ms", "0s retry in 0 ms", "0s m-west open for 30000 ms",
			"10s m-east open for 20000 ms",
			"30s m-east half_open for 0 ms", "30s m-east closed for 0 ms",
		}
		if diff := cmp.Diff(want, seen.lines); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A run that begins while its home's circuit is open goes to another member, and to none
// whose own is.
func TestAHomeWithAnOpenCircuitIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east, west, spare := always(busy(model.KindProvider, 0)), always(busy(model.KindProvider, 0)), answers("s")
		east.name, west.name, spare.name = "east", "west", "spare"
		m := newMarket(t, func(_ *agent.ModelPoolSpec, s *agent.Spec) {
			s.Retry.MaxRetries, s.Retry.BackoffBaseMS = new(20), new(0)
		}, &east, &west, &spare)
		m.talk(t, "hi", nil)
		if got := strings.Join(m.turns(t), "; "); got != "pool m-spare 2 | spare spare-1 | s" {
			t.Fatalf("turns %s", got)
		}
		*m.log = nil
		elsewhere := core.ThreadKey{Tenant: "t", Thread: "t2"}
		seen := &circuits{began: time.Now()}
		m.submit(t, elsewhere, "hi", mailbox.ModeQueue)
		m.finish(t, elsewhere, seen.sink)
		if diff := cmp.Diff([]string{"spare 1"}, *m.log); diff != "" {
			t.Errorf("calls:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"0s from m-east to m-spare: circuit_open"}, seen.lines); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
	})
}

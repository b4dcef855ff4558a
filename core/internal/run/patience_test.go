package run_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// outage is a model that fails until a time, and then says "up".
type outage struct {
	lasts   time.Duration
	failure error
	began   time.Time
	at      []time.Duration // of its calls
}

func (o *outage) Stream(context.Context, model.Request) iterator {
	return func(yield func(model.Delta, error) bool) {
		at := time.Since(o.began)
		o.at = append(o.at, at)
		if at < o.lasts {
			yield(model.Delta{}, o.failure)
			return
		}
		_ = yield(say("up"), nil) && yield(stopped, nil)
	}
}

// longest is the longest pause between two calls.
func (o *outage) longest() (most time.Duration) {
	for i := 1; i < len(o.at); i++ {
		most = max(most, o.at[i]-o.at[i-1])
	}
	return most
}

// follow leaves the mark of a stream of another process.
func (w *world) follow(t *testing.T) {
	t.Helper()
	head := w.head(t, key)
	record, err := live.Mark{Run: head.Run.ID, Until: time.Now().Add(live.MarkLife).UnixMilli()}.Record(w.records, head)
	if err == nil {
		err = w.store.Put(t.Context(), key, record)
	}
	if err != nil {
		t.Error(err)
	}
}

const (
	failed  = `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`
	limited = `done 0 {"type":"error","code":"rate_limited","detail":"the provider asks for a pause of 5m0.001s, at most 5m0s are waited"} ""`
)

// While no stream follows a run, the agent's patience bounds the calls of a failing model, and
// not their number. After five failures in a
// row, its circuit lets one call through every 30 s.
func TestPatience(t *testing.T) {
	const ms, s, minute, ever = time.Millisecond, time.Second, time.Minute, 1000 * time.Hour
	up := fmt.Sprintf(natural, 1, "up")
	down := &model.Error{Kind: model.KindProvider, Message: "down"}
	asks := func(wait time.Duration) error {
		return &model.Error{Kind: model.KindRateLimited, Message: "slower", RetryAfter: wait}
	}
	tests := []struct {
		name      string
		lasts     time.Duration // the outage
		failure   error         // nil: down
		retry     agent.Retry
		stop      []agent.StopSpec
		sink      history.Sink
		followed  time.Duration // when a stream begins to follow; 0: never
		end       string
		calls     int
		last      time.Duration // call
		over      time.Duration // the run is
		elsewhere bool          // each step is another process's
		draw      time.Duration // 0: 400 ms
	}{
		{name: "an outage of 14 minutes", lasts: 14 * minute, end: up, calls: 33, last: 14*minute + 1600*ms, over: 14*minute + 1600*ms},
		{name: "an outage without end", lasts: ever, end: failed, calls: 34, last: 14*minute + 31600*ms, over: 15 * minute},
		{name: "without end, each call by another process", lasts: ever, elsewhere: true, draw: 29 * s, end: failed, calls: 38, last: 15 * minute, over: 15 * minute},
		{name: "a patience of four hours", lasts: 3 * time.Hour, retry: agent.Retry{PatienceMS: new(14_400_000)}, end: up, calls: 365, last: 3*time.Hour + 1600*ms, over: 3*time.Hour + 1600*ms},
		{name: "no patience", lasts: ever, retry: agent.Retry{PatienceMS: new(0)}, end: failed, calls: 3, last: 800 * ms, over: 800 * ms},
		{name: "no retries", lasts: ever, retry: agent.Retry{MaxRetries: new(0)}, end: failed, calls: 1},
		{name: "no retries, but patience", lasts: minute, retry: agent.Retry{MaxRetries: new(0), PatienceMS: new(120_000)}, end: up, calls: 7, last: 61600 * ms, over: 61600 * ms},
		{name: "less patience than retries", lasts: ever, retry: agent.Retry{MaxRetries: new(20), PatienceMS: new(10_000)}, end: failed, calls: 5, last: 1600 * ms, over: 10 * s},
		{name: "an inline run", lasts: ever, sink: listener, end: failed, calls: 3, last: 800 * ms, over: 800 * ms},
		{name: "a stream that begins to follow", lasts: ever, followed: 5 * minute, end: failed, calls: 15, last: 5*minute + 1600*ms, over: 5*minute + 1600*ms},
		{name: "a permanent error", lasts: ever, failure: &model.Error{Kind: model.KindInvalid, Message: "no"}, end: failed, calls: 1},
		{name: "asked for five minutes", lasts: 14 * minute, failure: asks(5 * minute), end: up, calls: 4, last: 15 * minute, over: 15 * minute},
		{name: "asked for five minutes, without end", lasts: ever, failure: asks(5 * minute), end: failed, calls: 4, last: 15 * minute, over: 15 * minute},
		{name: "asked for more than the patience", lasts: ever, failure: asks(5 * minute), retry: agent.Retry{PatienceMS: new(299_999)}, end: failed, calls: 1},
		{name: "asked for more than five minutes", lasts: ever, failure: asks(5*minute + ms), end: limited, calls: 1},
		{name: "the run's own time", lasts: ever, stop: []agent.StopSpec{{Type: agent.StopTimeout, Seconds: 60}}, end: failed, calls: 6, last: 31600 * ms, over: minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &outage{lasts: tt.lasts, failure: tt.failure, began: time.Now()}
				if m.failure == nil {
					m.failure = down
				}
				o := options{env: drawing(cmp.Or(tt.draw, 400*ms)), agents: spec(t, m, agent.Spec{Retry: tt.retry, Stop: tt.stop})}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				if tt.followed != 0 {
					stop := time.AfterFunc(tt.followed, func() { w.follow(t) })
					defer stop.Stop()
				}
				w.rounds(t, tt.sink, func() {
					if tt.elsewhere {
						w.stepper = w.other(t, o)
					}
				})
				if over := time.Since(m.began); over != tt.over {
					t.Errorf("the run is over at %s, want %s", over, tt.over)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
				if last := m.at[len(m.at)-1]; len(m.at) != tt.calls || last != tt.last || m.longest() > 5*minute {
					t.Errorf("%d calls, the last at %s, want %d and %s; all at %v", len(m.at), last, tt.calls, tt.last, m.at[:min(len(m.at), 40)])
				}
			})
		})
	}
}

// rounds takes steps, each when the thread is due, until it never is again.
func (w *world) rounds(t *testing.T, sink history.Sink, before func()) {
	t.Helper()
	for range 1000 {
		before()
		head := w.head(t, key)
		if head.DueAt == 0 {
			return
		}
		time.Sleep(time.Until(time.UnixMilli(head.DueAt)))
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, sink); err != nil {
			t.Fatal(err)
		}
	}
}

// While a run waits for its provider, no worker has its claim, and it uses no attempt. A cancel
// ends it at once, without a call. Each retry is logged with its reason and its time.
func TestARunThatWaitsForItsProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := &outage{lasts: time.Hour, failure: &model.Error{Kind: model.KindOverloaded, Message: "busy"}, began: time.Now()}
		w := newWorld(t, options{env: drawing(-1), agents: spec(t, m, agent.Spec{}), logger: slog.New(slog.NewTextHandler(&log, nil))})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 10 {
			time.Sleep(time.Until(time.UnixMilli(w.head(t, key).DueAt)))
			w.step(t, key)
		}
		head := w.head(t, key)
		if r := head.Run; r.ModelFailed == 0 || r.Attempts != 0 || head.Claim.Fence != 0 || head.FailingSince() != m.began.UnixMilli() || r.AvailableAt <= time.Now().UnixMilli() {
			t.Errorf("the run is %+v, its model fails since %d; want no attempt and no claim, since %d", r, head.FailingSince(), m.began.UnixMilli())
		}
		if n := strings.Count(log.String(), `msg="model call failed, will be retried"`); n != int(head.Run.ModelFailed) || !strings.Contains(log.String(), "kind=overloaded wait=30s failed=5 error=busy patience=14m") {
			t.Errorf("of %d failed calls the log has %d lines:\n%s", head.Run.ModelFailed, n, &log)
		}
		calls := len(m.at)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 0 {"type":"cancelled"} ""` || len(m.at) != calls {
			t.Errorf("after a cancel and %d further calls the run is %s", len(m.at)-calls, got)
		}
	})
}

// Runs of before the field have no patience: their stored agent says nothing of it.
func TestAStoredAgentWithoutPatienceHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &outage{lasts: time.Hour, failure: &model.Error{Kind: model.KindProvider, Message: "down"}, began: time.Now()}
		agents := spec(t, m, agent.Spec{})
		now, err := agents.Resolve("demo")
		if err != nil {
			t.Fatal(err)
		}
		const said = `,"retry":{"patience_ms":900000}`
		content := string(now.Content())
		if strings.Count(content, said) != 1 {
			t.Fatalf("the content %s does not say its patience", content)
		}
		then, err := agents.ResolveContent([]byte(strings.Replace(content, said, "", 1)))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, options{env: drawing(0), agents: only{then}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != failed || len(m.at) != 3 {
			t.Errorf("after %d calls the run is %s, want 3", len(m.at), got)
		}
	})
}

// The time of an outage counts for one step. The next step can wait for as long again.
func TestPatienceBeginsWithEachStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls, turns := time.Now(), 0, 0
		flaky := modelFunc(func(context.Context, model.Request) iterator {
			return func(yield func(model.Delta, error) bool) {
				calls++
				switch at := time.Since(began); {
				case at > 10*time.Minute && turns == 0:
					turns++
					_ = yield(begin(0, "c", "echo"), nil) && yield(argue(0, `{"text":"x"}`), nil) && yield(called, nil)
				case at > 24*time.Minute:
					_ = yield(say("up"), nil) && yield(stopped, nil)
				default:
					yield(model.Delta{}, &model.Error{Kind: model.KindProvider, Message: "down"})
				}
			}
		})
		w := newWorld(t, options{env: drawing(-1), agents: spec(t, flaky, agent.Spec{})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.rounds(t, nil, func() {})
		if got, want := w.end(t, key, receipt), fmt.Sprintf(natural, 2, "up"); got != want {
			t.Errorf("after %d calls the run is %s, want %s", calls, got, want)
		}
	})
}

// only is a registry of one resolved agent.
type only struct{ agent *registry.Resolved }

func (o only) Resolve(string) (*registry.Resolved, error) { return o.agent, nil }

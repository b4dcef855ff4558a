package run_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// cutting is a model whose nth call is the nth list of deltas, the last one from
// then on; behind each list that does not end with a stop it fails. It remembers
// what it was asked, under which claim and when.
type cutting struct {
	calls    [][]model.Delta
	failure  error
	world    *world
	began    time.Time
	at       []string
	requests []model.Request
}

func (c *cutting) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		head, _ := c.world.box.Head(ctx, key) // a call without a head has claim 0
		c.at = append(c.at, fmt.Sprintf("claim %d at %s", head.Claim.Fence, time.Since(c.began)))
		c.requests = append(c.requests, request)
		deltas := c.calls[min(len(c.requests), len(c.calls))-1]
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
		if n := len(deltas); n == 0 || deltas[n-1].Type != model.DeltaStop {
			yield(model.Delta{}, c.failure)
		}
	}
}

// drawing is the real world whose pauses are drawn as n modulo their limit.
func drawing(n time.Duration) *env.Env {
	e := env.System()
	random := e.Random
	e.Random = func(b []byte) {
		if random(b); len(b) == 8 {
			binary.BigEndian.PutUint64(b, uint64(n))
		}
	}
	return e
}

// spec is a registry of one agent.
func spec(tb testing.TB, m model.Model, s agent.Spec, tools ...tool.Tool) *registry.Registry {
	tb.Helper()
	s.ID, s.Model = "demo", "m"
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m}},
		Tools:  append([]tool.Tool{echoTool(tb)}, tools...),
		Specs:  []agent.Spec{s},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return agents
}

func say(s string) model.Delta   { return model.Delta{Type: model.DeltaText, Text: s} }
func think(s string) model.Delta { return model.Delta{Type: model.DeltaReasoning, Text: s} }
func argue(i int, s string) model.Delta {
	return model.Delta{Type: model.DeltaToolArgument, Index: i, Text: s}
}
func begin(i int, id, name string) model.Delta {
	return model.Delta{Type: model.DeltaToolStart, Index: i, CallID: id, Name: name}
}

var (
	stopped = model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}
	called  = model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}
)

func listener(core.Event) error { return nil }

// A call that failed is made again so often, and after such pauses, as the agent says:
// full jitter under a limit that doubles up to 30 s, or what the provider asks for, up
// to 5 minutes. The pause is waited for where it costs least; the calls are the same,
// and so is the policy of a stream that breaks off in the middle.
func TestRetryPolicy(t *testing.T) {
	failure := func(kind model.ErrorKind, asked time.Duration) error {
		return &model.Error{Kind: kind, Message: "no", RetryAfter: asked}
	}
	const s, ms = time.Second, time.Millisecond
	const exhausted = `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`
	tests := []struct {
		name    string
		failure error
		retries *int
		base    *int          // of the pauses, in ms
		said    []model.Delta // by each call before it fails
		draw    time.Duration
		silent  bool          // nobody listens
		leaves  bool          // the listener leaves with the first failure
		limit   time.Duration // of the step
		want    string
		end     string
	}{
		{name: "a permanent 500, seen", failure: failure(model.KindProvider, 0), draw: 400 * ms,
			want: "claim 1 at 0s, claim 1 at 400ms, claim 1 at 800ms", end: exhausted},
		{name: "a permanent 500, unseen", failure: failure(model.KindProvider, 0), draw: 400 * ms, silent: true,
			want: "claim 1 at 0s, claim 2 at 400ms, claim 3 at 800ms", end: exhausted},
		{name: "the reader leaves", failure: failure(model.KindProvider, 0), draw: 400 * ms, leaves: true,
			want: "claim 1 at 0s, claim 2 at 400ms, claim 2 at 800ms", end: exhausted},
		{name: "no retries", failure: failure(model.KindProvider, 0), retries: new(0),
			want: "claim 1 at 0s", end: exhausted},
		{name: "four retries", failure: failure(model.KindProvider, 0), retries: new(4), draw: 300 * ms,
			want: "claim 1 at 0s, claim 1 at 300ms, claim 1 at 600ms, claim 1 at 900ms, claim 1 at 1.2s", end: exhausted},
		{name: "a long pause", failure: failure(model.KindOverloaded, 0), draw: 3 * s, // 3 s mod 2 s, then mod 4 s
			want: "claim 1 at 0s, claim 1 at 1s, claim 2 at 4s", end: exhausted},
		{name: "asked for a short pause", failure: failure(model.KindRateLimited, 2*s),
			want: "claim 1 at 0s, claim 1 at 2s, claim 1 at 4s", end: exhausted},
		{name: "asked for less than ours", failure: failure(model.KindRateLimited, 100*ms), draw: 400 * ms,
			want: "claim 1 at 0s, claim 1 at 400ms, claim 1 at 800ms", end: exhausted},
		{name: "asked for a longer pause", failure: failure(model.KindRateLimited, 2*s+ms), retries: new(1),
			want: "claim 1 at 0s, claim 2 at 2.001s", end: exhausted},
		{name: "asked for 5 minutes", failure: failure(model.KindRateLimited, 300*s), retries: new(1),
			want: "claim 1 at 0s, claim 2 at 5m0s", end: exhausted},
		{name: "asked for 301 s", failure: failure(model.KindRateLimited, 301*s),
			want: "claim 1 at 0s", end: `done 0 {"type":"error","code":"rate_limited","detail":"the provider asks for a pause of 5m1s, at most 5m0s are waited"} ""`},
		{name: "a quota that waiting does not cure", failure: failure(model.KindQuota, 301*s),
			want: "claim 1 at 0s", end: exhausted},
		{name: "no model error, with the code of a stream that was cut", failure: core.Errorf(core.CodeUnavailable, "no"),
			want: "claim 1 at 0s", end: exhausted},
		{name: "a draw of nothing", failure: failure(model.KindProvider, 0),
			want: "claim 1 at 0s, claim 1 at 0s, claim 1 at 0s", end: exhausted},
		{name: "limits that double up to 30 s", failure: failure(model.KindProvider, 0), retries: new(4), base: new(10_000), draw: 29 * s, // mod 10, 20, 30 and 30 s
			want: "claim 1 at 0s, claim 2 at 9s, claim 3 at 18s, claim 4 at 47s, claim 5 at 1m16s", end: exhausted},
		{name: "behind five failures in a row, the cooldown of the circuit", failure: failure(model.KindProvider, 0), retries: new(7), draw: 29 * s, // mod 0.5, 1, 2, 4, 8, 16 and 30 s
			want: "claim 1 at 0s, claim 1 at 0s, claim 1 at 0s, claim 1 at 1s, claim 1 at 2s, claim 2 at 32s, claim 3 at 1m2s, claim 4 at 1m32s", end: exhausted},
		{name: "asked for more than the cooldown", failure: failure(model.KindRateLimited, 60*s), retries: new(5),
			want: "claim 1 at 0s, claim 2 at 1m0s, claim 3 at 2m0s, claim 4 at 3m0s, claim 5 at 4m0s, claim 6 at 5m0s", end: exhausted},
		{name: "in the middle of a stream", failure: failure(model.KindInterrupted, 0), draw: 400 * ms, said: []model.Delta{say("a")},
			want: "claim 1 at 0s, claim 1 at 400ms, claim 1 at 800ms", end: exhausted},
		{name: "in the middle of a stream, as the agent says", failure: failure(model.KindInterrupted, 0), retries: new(1), base: new(1000), draw: 900 * ms, said: []model.Delta{say("a")},
			want: "claim 1 at 0s, claim 1 at 900ms", end: exhausted},
		{name: "in the middle of a stream, no retries", failure: failure(model.KindInterrupted, 0), retries: new(0), said: []model.Delta{say("a")},
			want: "claim 1 at 0s", end: exhausted},
		{name: "time enough behind the pause", failure: failure(model.KindProvider, 0), retries: new(1), draw: 400 * ms, limit: 10400 * ms,
			want: "claim 1 at 0s, claim 1 at 400ms", end: exhausted},
		{name: "too little time behind the pause", failure: failure(model.KindProvider, 0), retries: new(1), draw: 400 * ms, limit: 10399 * ms,
			want: "claim 1 at 0s, claim 2 at 400ms", end: exhausted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cutting{calls: [][]model.Delta{tt.said}, failure: tt.failure, began: time.Now()}
				w := newWorld(t, options{env: drawing(tt.draw), agents: spec(t, m, agent.Spec{Retry: agent.Retry{MaxRetries: tt.retries, BackoffBaseMS: tt.base, PatienceMS: new(0)}})})
				m.world = w
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var sink history.Sink
				if !tt.silent {
					sink = listener
				}
				if tt.leaves {
					sink = func(e core.Event) error {
						if e.Type == core.EventInferenceRetry && len(m.at) == 1 {
							return context.Canceled
						}
						return nil
					}
				}
				if tt.limit != 0 {
					ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
					defer cancel()
					if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, sink); err != nil {
						t.Fatal(err)
					}
				}
				w.finish(t, key, sink)
				if got := strings.Join(m.at, ", "); got != tt.want {
					t.Errorf("the model is called by %s\nwant %s", got, tt.want)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

// How long a stream may be silent is the agent's to say, twice as long where its model
// reasons, and every call of a step is told: the first, one that goes on behind what was
// shown, and one of another delivery.
func TestRetryPolicyOfSilentStreams(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name   string
		agents *int // ms
		effort model.Effort
		facts  model.Reasoning
		want   time.Duration
	}{
		{"nothing said", nil, "", "", 0},
		{"said", new(5000), "", "", 5 * s},
		{"reasoning asked for", nil, model.EffortLow, "", 120 * s},
		{"a budget of reasoning asked for", new(5000), model.EffortBudget(100), model.ReasoningNone, 10 * s},
		{"a model that reasons by levels", new(5000), "", model.ReasoningLevels, 10 * s},
		{"a model that does not", new(5000), "", model.ReasoningNone, 5 * s},
		{"no reasoning asked for", new(5000), model.EffortNone, model.ReasoningLevels, 5 * s},
		{"none, of a model that always does", nil, model.EffortNone, model.ReasoningAlways, 120 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cutting{calls: [][]model.Delta{{say("a")}, {say("b")}, {}}, failure: &model.Error{Kind: model.KindTimeout, Message: "silent"}, began: time.Now()}
				agents, err := registry.New(agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m, Facts: model.Facts{Reasoning: tt.facts}}},
					Specs: []agent.Spec{{ID: "demo", Model: "m", ReasoningEffort: tt.effort, Retry: agent.Retry{
						MaxRetries: new(3), BackoffBaseMS: new(1250), StreamIdleTimeoutMS: tt.agents,
					}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, options{env: drawing(3 * time.Second), agents: agents})
				m.world = w
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, listener)
				var got []time.Duration
				for _, r := range m.requests {
					got = append(got, r.StreamIdleTimeout)
				}
				if diff := cmp.Diff([]time.Duration{tt.want, tt.want, tt.want, tt.want}, got); diff != "" || !strings.Contains(strings.Join(m.at, " "), "claim 2") {
					t.Errorf("calls %s (-want +got):\n%s", m.at, diff)
				}
			})
		})
	}
}

// A process that dies forgets the calls of its step but one, which the lost claim
// stands for; the last call is never taken away.
func TestTheBudgetOfModelCallsSurvivesACrash(t *testing.T) {
	tests := []struct {
		name  string
		dies  int // in this call of the model
		calls int
	}{
		{"in the first", 1, 3}, // one lost, two more
		{"in the second", 2, 4},
		{"in the third", 3, 5}, // two failures of the step are not known
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &cutting{calls: [][]model.Delta{{}}, failure: &model.Error{Kind: model.KindProvider, Message: "no"}, began: time.Now()}
				var w *world
				n := 0
				dying := modelFunc(func(ctx context.Context, r model.Request) iterator {
					if n++; n == tt.dies {
						w.store.dead.Store(true)
					}
					return m.Stream(ctx, r)
				})
				o := options{env: drawing(100 * time.Millisecond), agents: spec(t, dying, agent.Spec{})}
				w = newWorld(t, o)
				m.world = w
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				ctx, cancel := context.WithCancel(t.Context())
				died := func(core.Event) error {
					if w.store.dead.Load() {
						cancel()
					}
					return nil
				}
				if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, died); err == nil {
					t.Fatal("the dead process has stored something")
				}
				w.store.dead.Store(false)
				w.stepper = w.other(t, o)
				w.finish(t, key, listener)
				if got := w.end(t, key, receipt); n != tt.calls || got != `done 0 {"type":"error","code":"model","detail":"the model failed"} ""` {
					t.Errorf("after %d calls the run is %s; want %d", n, got, tt.calls)
				}
			})
		})
	}
}

// The delivery that made the last call may fail to store the run's end: whoever comes
// next stores it, and calls nobody.
func TestTheModelIsNotCalledAgainToStoreItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cutting{calls: [][]model.Delta{{}}, failure: &model.Error{Kind: model.KindProvider, Message: "no"}, began: time.Now()}
		w := newWorld(t, options{env: drawing(0), agents: spec(t, m, agent.Spec{})})
		m.world = w
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if c.Head.Run.ID.IsZero() {
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, listener); err != nil {
			t.Fatal(err)
		}
		if r := w.head(t, key).Run; r.ModelFailed != 3 {
			t.Fatalf("the run is %+v; want it given back with 3 failed calls", r)
		}
		w.store.OnCommit = nil
		time.Sleep(time.Minute)
		w.finish(t, key, listener)
		const want = `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`
		if got := w.end(t, key, receipt); len(m.at) != 3 || got != want {
			t.Errorf("after %d calls the run is %s\nwant 3 calls and %s", len(m.at), got, want)
		}
	})
}

// Each retry is told to whoever listens and to the log.
func TestRetriesAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := &cutting{calls: [][]model.Delta{{}}, failure: &model.Error{Kind: model.KindOverloaded, Message: "busy"}, began: time.Now()}
		w := newWorld(t, options{env: drawing(3 * time.Second), agents: spec(t, m, agent.Spec{}), logger: slog.New(slog.NewTextHandler(&log, nil))})
		m.world = w
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var got []string
		w.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventInferenceRetry {
				got = append(got, fmt.Sprintf("%d failed, wait %d ms, %s, step %d, position %q", e.Failed, e.Wait, e.Reason, e.Step, e.Position))
			}
			return nil
		})
		want := []string{
			`1 failed, wait 1000 ms, overloaded, step 1, position ""`,
			`2 failed, wait 3000 ms, overloaded, step 1, position ""`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		for _, want := range []string{"kind=overloaded wait=1s failed=1 error=busy", "kind=overloaded wait=3s failed=2 error=busy"} {
			if n := strings.Count(log.String(), want); n != 1 || !strings.Contains(log.String(), `level=WARN msg="model call failed, will be retried"`) {
				t.Errorf("the log has %d lines with %s:\n%s", n, want, log.String())
			}
		}
	})
}

// Pauses and calls together may take longer than a lease.
func TestTheLeaseIsRenewedWhileAStepWaitsForItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cutting{calls: [][]model.Delta{{}}, failure: &model.Error{Kind: model.KindRateLimited, Message: "no", RetryAfter: 2 * time.Second}, began: time.Now()}
		slow := modelFunc(func(ctx context.Context, r model.Request) iterator {
			time.Sleep(10 * time.Second)
			return m.Stream(ctx, r)
		})
		o := options{env: drawing(0), agents: spec(t, slow, agent.Spec{Retry: agent.Retry{MaxRetries: new(4)}})}
		w := newWorld(t, o)
		m.world = w
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, listener)
		last := m.at[len(m.at)-1]
		if got := w.end(t, key, receipt); len(m.at) != 5 || last != "claim 1 at 58s" {
			t.Errorf("%d calls, the last by %s; the run is %s. Want 5, the last by claim 1 at 58s", len(m.at), last, got)
		}
	})
}

// A cancel ends a pause like everything else of a step.
func TestACancelEndsThePauseOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cutting{calls: [][]model.Delta{{say("one ")}}, failure: &model.Error{Kind: model.KindRateLimited, Message: "no", RetryAfter: 1900 * time.Millisecond}, began: time.Now()}
		w := newWorld(t, options{env: drawing(0), agents: spec(t, m, agent.Spec{Retry: agent.Retry{MaxRetries: new(20)}})})
		m.world = w
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		time.AfterFunc(5*time.Second, func() {
			if _, err := w.box.Cancel(context.Background(), key, receipt.RunID); err != nil {
				t.Error(err)
			}
		})
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, listener); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(m.began); took != 6*time.Second || len(m.at) != 4 { // the next look of the watch
			t.Errorf("the cancelled step ends after %s and %d calls, want 6s and 4", took, len(m.at))
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: one one one one "}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// turnOf is the first turn of the log.
func (w *world) turnOf(tb testing.TB) thread.Entry {
	tb.Helper()
	entries, err := threadlog.Read(tb.Context(), w.store, thread.Records{}, key, 1, w.head(tb, key).Seq)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			return e
		}
	}
	tb.Fatal("the log has no turn")
	return thread.Entry{}
}

// A host that stops during a pause gives the work back at once; the call that
// has failed stays counted, and is no attempt.
func TestAHostThatStopsDuringThePauseOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &cutting{calls: [][]model.Delta{{}}, failure: &model.Error{Kind: model.KindRateLimited, Message: "no", RetryAfter: 2 * time.Second}, began: time.Now()}
		w := newWorld(t, options{env: drawing(0), agents: spec(t, m, agent.Spec{})})
		m.world = w
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, listener)
		if err != nil || !stepped.Retry || time.Since(m.began) != time.Second {
			t.Fatalf("the step is %+v, %v after %s; want it given back after 1s", stepped, err, time.Since(m.began))
		}
		if r := w.head(t, key).Run; r.ModelFailed != 1 || r.Attempts != 0 || r.AvailableAt != 0 {
			t.Errorf("the run is %+v; want one failed call, no attempt, available at once", r)
		}
		w.finish(t, key, listener)
		if got := strings.Join(m.at, ", "); got != "claim 1 at 0s, claim 2 at 1s, claim 2 at 3s" {
			t.Errorf("the model is called by %s", got)
		}
	})
}

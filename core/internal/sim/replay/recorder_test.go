package replay_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// code is what a test may change between a run and its replay.
type code struct {
	apply  func(v, u int) int                                                // of the key tally; nil: adds
	after  func(plugin.AfterTool) (state.Command, error)                     // nil: nothing
	end    func(plugin.StepEnd) (state.Command, error)                       // nil: counts one
	gate   func(plugin.GateCall) (plugin.Verdict, error)                     // nil: allows
	run    func(context.Context, tool.Call) (tool.Result, error)             // of the tool work; nil: "done"
	rounds int                                                               // of the agent; 0: 5
	mode   agent.ExecutionMode                                               // likewise
	turns  func(n int, yield func(model.Delta, error) bool, r model.Request) // nil: works twice, then ends
	bare   bool                                                              // the agent is without the plugin
	limit  time.Duration                                                     // of the tool; 0: none
}

// tally is the code's plugin. sent counts the effects that ran.
type tally struct {
	code
	sent *atomic.Int64
}

var mail = plugin.Effect[string]{Name: "mail"}

func (tally) ID() string { return "tally" }

func (p tally) key() state.Key[int, int] {
	apply := p.apply
	if apply == nil {
		apply = func(v, u int) int { return v + u }
	}
	return state.Key[int, int]{Name: "tally", Scope: state.ScopeThread, Commutative: true, Apply: apply}
}

func (p tally) Register(r *plugin.Registrar) error {
	r.Key(p.key())
	mail.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
		p.sent.Add(1)
		return nil
	})
	r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
		if p.end != nil {
			return p.end(c)
		}
		return state.Combine(p.key().Update(1), mail.Emit("step")), nil
	})
	r.OnBeforeTool(func(context.Context, plugin.BeforeTool) (state.Command, error) { return p.key().Update(10), nil })
	if p.after != nil {
		r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) { return p.after(c) })
	}
	r.OnRunEnd(func(context.Context, plugin.RunEnd) (state.Command, error) { return p.key().Update(100), nil })
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		if p.gate != nil {
			return p.gate(c)
		}
		return plugin.Allow, nil
	})
	return nil
}

// work is the code's tool.
type work struct{ code }

func (w work) Spec() tool.Spec           { return tool.Spec{Name: "work", Timeout: w.limit} }
func (work) Check(json.RawMessage) error { return nil }
func (w work) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if w.run != nil {
		return w.run(ctx, c)
	}
	return tool.NewResult("done"), nil
}

// Stream implements model.Model: which turn it is asked for follows from those of the
// run.
func (c code) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	n, run := 0, r.Messages[len(r.Messages)-1].RunID
	for _, m := range r.Messages {
		if m.Role == core.RoleAssistant && m.RunID == run {
			n++
		}
	}
	return func(yield func(model.Delta, error) bool) {
		if c.turns != nil {
			c.turns(n, yield, r)
			return
		}
		if n < 2 {
			works(yield)
			return
		}
		says("ok", yield)
	}
}

// works is a turn that calls the tool.
func works(yield func(model.Delta, error) bool) {
	_ = yield(model.Delta{Type: model.DeltaText, Text: "I work"}, nil) &&
		yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) &&
		yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil) &&
		yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 3, Output: 2}}, nil) &&
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
}

func says(text string, yield func(model.Delta, error) bool) {
	_ = yield(model.Delta{Type: model.DeltaText, Text: text}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
}

func (c code) registry(t *testing.T) *registry.Registry {
	t.Helper()
	rounds := 5
	if c.rounds != 0 {
		rounds = c.rounds
	}
	plugins, names := []plugin.Plugin{tally{c, &sent}}, []string{"tally"}
	if c.bare {
		plugins, names = nil, nil
	}
	r, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: c, Name: "scripted"}}, Tools: []tool.Tool{work{c}}, Plugins: plugins,
		Specs: []agent.Spec{{ID: "a", Model: "m", Plugins: names, MaxRounds: &rounds, ExecutionMode: c.mode}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sent counts the effects that ran in this package's tests, none of which are parallel.
var sent atomic.Int64

// recorder runs code and keeps what it stores.
type recorder struct {
	*host.Host
	store store.Backend
	hints []core.WakeUp
}

func (r *recorder) Wake(_ context.Context, hint core.WakeUp, _ time.Duration) error {
	r.hints = append(r.hints, hint)
	return nil
}

var (
	key   = core.ThreadKey{Tenant: "t", Thread: "t1"}
	ann   = core.Identity{Tenant: "t", User: "ann"}
	quiet = slog.New(slog.DiscardHandler)
)

func newRecorder(t *testing.T, c code, stops ...agent.StopPolicy) *recorder {
	t.Helper()
	r := &recorder{store: memory.New()}
	var err error
	if r.Host, err = host.New(host.Options{Env: env.System(), Store: r.store, Waker: r, Registry: c.registry(t), Logger: quiet, Stops: stops}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) submit(t *testing.T, text string, mode mailbox.Mode) mailbox.Receipt {
	t.Helper()
	receipt, err := r.Submit(t.Context(), mailbox.Submission{
		Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "a", Request: json.RawMessage(`{"plan":"gold"}`)}, Mode: mode, Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// work follows the hints until there are none.
func (r *recorder) work(t *testing.T) {
	t.Helper()
	for len(r.hints) > 0 {
		hint := r.hints[0]
		r.hints = r.hints[1:]
		if errs := r.WorkBatch(t.Context(), []core.WakeUp{hint}); errs[0] != nil {
			t.Fatal(errs)
		}
		time.Sleep(time.Second)
	}
}

// replayed is the report of a replay of the thread by other code. It has RUN for the ids of
// runs, HASH for those of agents.
func (r *recorder) replayed(t *testing.T, c code, only core.ID, runs ...mailbox.Receipt) string {
	t.Helper()
	reports, err := replay.Options{Agents: c.registry(t)}.Thread(t.Context(), r.store, key, only)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, report := range reports {
		lines = append(lines, report.String())
	}
	text := strings.Join(lines, "\n")
	for i, run := range runs {
		text = strings.ReplaceAll(text, run.RunID.String(), "RUN"+strconv.Itoa(i+1))
	}
	return text
}

// wantReplay compares the report of a replay of the whole thread.
func (r *recorder) wantReplay(t *testing.T, c code, run mailbox.Receipt, want string) {
	t.Helper()
	if diff := cmp.Diff(want, r.replayed(t, c, core.ID{}, run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// another is a second process on the recorder's store, which may have something before it.
func (r *recorder) another(t *testing.T, c code, s store.Backend) *host.Host {
	t.Helper()
	other, err := host.New(host.Options{Env: env.System(), Store: s, Waker: r, Registry: c.registry(t), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// decide decides about the question that a call of the run waits for.
func decide(ctx context.Context, by *host.Host, run core.ID, call int, action core.DecisionAction) error {
	info, err := by.ReadRun(ctx, ann, run)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(info.Tickets, func(t core.Ticket) bool { return strings.HasSuffix(t.CallID, "_"+strconv.Itoa(call)) })
	if i < 0 {
		return core.Errorf(core.CodeNotFound, "call %d waits for nothing", call)
	}
	_, err = by.Decide(ctx, ann, run, mailbox.Deciding{Target: info.Tickets[i].Suspension.ID, Decision: core.Decision{Action: action}})
	return err
}

// calls is a model that calls the tool a number of times in its first turn, and then ends.
func calls(count int) func(int, func(model.Delta, error) bool, model.Request) {
	return func(n int, yield func(model.Delta, error) bool, _ model.Request) {
		if n > 0 {
			says("ok", yield)
			return
		}
		for range count {
			_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) && yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil)
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

// callsTwice is a turn with two calls.
func callsTwice(_ int, yield func(model.Delta, error) bool, _ model.Request) {
	for range 2 {
		_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) && yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil)
	}
	yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
}

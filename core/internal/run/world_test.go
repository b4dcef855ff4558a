package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// modelFunc is a model.
type modelFunc func(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error]

func (f modelFunc) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return f(ctx, request)
}

// replies is a model whose nth inference of a conversation says the nth list of
// deltas: assistant turns count. A delta of no type is an error.
func replies(turns ...[]model.Delta) modelFunc {
	return func(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
		n := 0
		messages, _ := cutturn.Continued(request.Messages)
		for _, m := range messages {
			if m.Role == core.RoleAssistant {
				n++
			}
		}
		return func(yield func(model.Delta, error) bool) {
			for _, d := range turns[n] {
				if d.Type == 0 {
					yield(model.Delta{}, &model.Error{Kind: model.KindInvalid, Message: d.Text})
					return
				}
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

func text(s string) []model.Delta {
	return []model.Delta{{Type: model.DeltaText, Text: s}, {Type: model.DeltaStop, Stop: core.StopEndTurn}}
}

// calls is a turn of tool calls, given as name, arguments, name, arguments ...
func calls(pairs ...string) (deltas []model.Delta) {
	for i := 0; i < len(pairs); i += 2 {
		deltas = append(deltas,
			model.Delta{Type: model.DeltaToolStart, Index: i / 2, Name: pairs[i]},
			model.Delta{Type: model.DeltaToolArgument, Index: i / 2, Text: pairs[i+1]})
	}
	return append(deltas, model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse})
}

// toolFunc is a tool that takes any arguments.
type toolFunc struct {
	name       string
	atMostOnce bool
	readOnly   bool
	approval   string
	wrong      error // what it says of its arguments
	run        func(ctx context.Context, call tool.Call) (tool.Result, error)
}

func (f toolFunc) Spec() tool.Spec {
	return tool.Spec{Name: f.name, AtMostOnce: f.atMostOnce, ReadOnly: f.readOnly, Approval: f.approval}
}
func (f toolFunc) Check(json.RawMessage) error { return f.wrong }
func (f toolFunc) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return f.run(ctx, c)
}

// pluginFunc is a plugin.
type pluginFunc struct {
	id       string
	register func(r *plugin.Registrar)
}

func (f pluginFunc) ID() string { return f.id }
func (f pluginFunc) Register(r *plugin.Registrar) error {
	f.register(r)
	return nil
}

// options is what a test may change of its world.
type options struct {
	model   model.Model
	tools   []tool.Tool
	plugins []plugin.Plugin
	stop    []agent.StopPolicy
	mode    agent.ExecutionMode // empty: sequential
	env     *env.Env
	agents  resolver
	records thread.Records
	window  int
	cache   int
	logger  *slog.Logger

	observer run.Observer
	chunks   bool
	leaveFor time.Duration
	metering *accounting.Metering
	context  *agent.ContextWindowPolicy
	compact  func(context.Context, core.ThreadKey)
	choices  run.Choices    // nil: those of a run that happens now
	children run.Children   // nil: tools start none
	others   run.Others     // nil: tools have no access to other threads
	limits   account.Limits // of everybody; a token costs a cent
	limit    int            // of the store's records, in bytes; 0: there is none
	refuse   int            // so many writes that would end a run the store does not take

	accept func(id core.ID, step int, answer string) error
	failed func(id core.ID, cause error)
}

// resolver is a registry, or what stands for one.
type resolver interface {
	Resolve(id string) (*registry.Resolved, error)
}

// unpinned resolves today's agent, whatever a run began with.
type unpinned struct {
	resolver
	given *receivedRequests // notes what the models receive
}

func (u unpinned) Resolve(_ context.Context, id, _ string) (*registry.Resolved, error) {
	agent, err := u.resolver.Resolve(id)
	if err == nil && u.given != nil {
		u.given.watch(agent)
	}
	return agent, err
}

// world is a stepper with its mailbox on a memory store.
type world struct {
	box     *mailbox.Service
	stepper *run.Stepper
	store   *backend
	queue   *mailboxtest.Queue // these tests step by hand
	given   *receivedRequests
	records thread.Records
}

var key = core.ThreadKey{Tenant: "t", Thread: "t1"}

func newWorld(tb testing.TB, o options) *world {
	tb.Helper()
	o = o.complete(tb)
	w := &world{store: newBackend(), queue: &mailboxtest.Queue{}, records: o.records, given: &receivedRequests{}}
	tb.Cleanup(func() { w.given.check(tb, w) })
	var err error
	if w.box, err = mailbox.New(mailbox.Options{Env: o.env, Store: w.store, Waker: w.queue, Logger: quiet, Records: o.records}); err != nil {
		tb.Fatal(err)
	}
	w.stepper = newStepper(tb, w, o)
	if o.limit > 0 {
		w.limit(o.limit)
	}
	if o.refuse > 0 {
		w.refuseClose(o.refuse, store.ErrThrottled)
	}
	return w
}

// other is a stepper of another process on the same store.
func (w *world) other(tb testing.TB, o options) *run.Stepper {
	tb.Helper()
	return newStepper(tb, w, o.complete(tb))
}

// withRecords makes mailbox and stepper those of a program of other schemas.
func (w *world) withRecords(tb testing.TB, o options) {
	tb.Helper()
	o = o.complete(tb)
	box, err := mailbox.New(mailbox.Options{Env: o.env, Store: w.store, Waker: w.queue, Logger: quiet, Records: o.records})
	if err != nil {
		tb.Fatal(err)
	}
	w.box = box
	w.stepper = newStepper(tb, w, o)
}

func (o options) complete(tb testing.TB) options {
	tb.Helper()
	if o.env == nil {
		o.env = env.System()
	}
	if o.model == nil {
		o.model = scripted.New(o.env)
	}
	if o.logger == nil {
		o.logger = quiet
	}
	if o.agents == nil {
		o.agents = newRegistry(tb, o, "demo")
	}
	return o
}

func newRegistry(tb testing.TB, o options, id string) *registry.Registry {
	tb.Helper()
	parts := agent.Parts{
		Models:  map[string]agent.ModelBinding{"m": {Model: o.model, Name: "scripted"}},
		Tools:   append([]tool.Tool{echoTool(tb)}, o.tools...),
		Plugins: o.plugins,
		Specs:   []agent.Spec{{ID: id, Model: "m", ExecutionMode: o.mode, MaxRounds: new(0), Context: o.context}}, // runs of hundreds of steps are stepped
	}
	for _, p := range o.plugins {
		parts.Specs[0].Plugins = append(parts.Specs[0].Plugins, p.ID())
	}
	agents, err := registry.New(parts)
	if err != nil {
		tb.Fatal(err)
	}
	return agents
}

var quiet = slog.New(slog.DiscardHandler)

// newGate limits everybody's runs; a token costs a cent.
func newGate(tb testing.TB, w *world, o options) *accounting.Gate {
	tb.Helper()
	gate, err := accounting.NewGate(accounting.GateOptions{
		Env: o.env, Store: w.store, Limits: account.Tenants{Default: o.limits}, Cost: func(_, name string, u core.Usage, _ time.Time) (core.USD, bool) {
			return core.USD(accounting.Tokens(u)) * core.USD(1e9) / 100, name == "scripted"
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return gate
}

func newStepper(tb testing.TB, w *world, o options) *run.Stepper {
	tb.Helper()
	s, err := run.New(run.Options{
		Env: o.env, Store: w.store, Committer: w.box, Agents: unpinned{o.agents, w.given}, Records: o.records, Stops: o.stop,
		Logger: o.logger, Observer: o.observer, Window: o.window, CacheSize: o.cache, Chunks: o.chunks, LeaveFor: o.leaveFor, Metering: o.metering,
		Compact: o.compact, Limits: newGate(tb, w, o), Choices: o.choices, Children: o.children, Others: o.others, Accept: o.accept, Failed: o.failed,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// afterSiblings lets the tools of a parallel round end in call order.
func afterSiblings(c tool.Call) { time.Sleep(time.Duration(c.Index) * time.Millisecond) }

func echoTool(tb testing.TB) tool.Tool {
	tb.Helper()
	type arguments struct {
		Text string `json:"text"`
	}
	echo := tool.New(tool.Spec{Name: "echo", Description: "Says a text back."},
		func(_ context.Context, c tool.Call, a arguments) (tool.Result, error) {
			afterSiblings(c)
			return tool.NewResult(map[string]string{"text": a.Text}), nil
		})
	return echo
}

// submit sends an input, and returns its receipt.
func (w *world) submit(tb testing.TB, key core.ThreadKey, text string, mode mailbox.Mode) mailbox.Receipt {
	tb.Helper()
	receipt, err := w.box.Submit(tb.Context(), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text)}, Mode: mode,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return receipt
}

func (w *world) take(tb testing.TB, key core.ThreadKey) thread.Head {
	tb.Helper()
	head, claimed, err := w.box.Claim(tb.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true)
	if err != nil || !claimed {
		tb.Fatalf("claim: %v, claimed %v", err, claimed)
	}
	return head
}

func (w *world) head(tb testing.TB, key core.ThreadKey) thread.Head {
	tb.Helper()
	head, err := w.box.Head(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return head
}

// step claims the thread and takes one step.
func (w *world) step(tb testing.TB, key core.ThreadKey) run.Stepped {
	tb.Helper()
	stepped, err := w.stepper.Step(tb.Context(), run.Work{Key: key, Head: w.take(tb, key)}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return stepped
}

// finish claims and steps the thread whenever it is due until it never is
// again, in the time of a synctest bubble.
func (w *world) finish(tb testing.TB, key core.ThreadKey, sink history.Sink) {
	tb.Helper()
	for range 100 {
		head := w.head(tb, key)
		if head.DueAt == 0 {
			return
		}
		if wait := head.DueAt - time.Now().UnixMilli(); wait > 0 {
			time.Sleep(time.Duration(wait) * time.Millisecond)
		}
		head, claimed, err := w.box.Claim(tb.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true)
		if err != nil {
			tb.Fatal(err)
		}
		if !claimed {
			continue
		}
		if _, err := w.stepper.Step(tb.Context(), run.Work{Key: key, Head: head}, sink); err != nil && !errors.Is(err, thread.ErrFenced) {
			tb.Fatal(err)
		}
	}
	tb.Fatal("the thread is still due after 100 claims")
}

// record reads a stored record.
func (w *world) record(tb testing.TB, name string) store.Record {
	tb.Helper()
	r, ok, err := w.store.Backend.Get(tb.Context(), key, name)
	if err != nil || !ok {
		tb.Fatalf("record %s: %v, found %v", name, err, ok)
	}
	return r
}

// log is the committed log, one line an entry, and checks that it has no gap.
func (w *world) log(tb testing.TB, key core.ThreadKey) []string {
	tb.Helper()
	entries, err := threadlog.Read(tb.Context(), w.store, thread.Records{Schemas: thread.Schemas{Reads: 3}}, key, 1, w.head(tb, key).Seq)
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	for i := range entries {
		lines = append(lines, logLine(&entries[i]))
	}
	return lines
}

func logLine(e *thread.Entry) string {
	line := "state"
	if e.Failed != nil {
		line = "failed: " + e.Failed.Kind
	}
	if m := e.Message; m != nil {
		line = string(m.Role) + ": " + m.Text()
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
	}
	return line
}

// end is how a finished run ended, as JSON, and its response.
func (w *world) end(tb testing.TB, key core.ThreadKey, receipt mailbox.Receipt) string {
	tb.Helper()
	r, ok, err := w.box.Run(tb.Context(), key, w.head(tb, key), receipt.RunID, receipt.DispatchID)
	if err != nil || !ok {
		tb.Fatalf("run: %v, found %v", err, ok)
	}
	b, err := json.Marshal(r.Termination)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("%s %d %s %q", r.Status, r.Steps, b, r.Response)
}

// events collects a stream, one line an event.
type events struct{ lines []string }

func (e *events) sink(event core.Event) error {
	line := string(event.Type)
	for _, part := range []string{event.Name, event.Delta, string(event.Arguments), string(event.Result)} {
		if part != "" {
			line += " " + part
		}
	}
	if event.Termination != nil {
		line += " " + string(event.Termination.Type)
	}
	e.lines = append(e.lines, line)
	return nil
}

type iterator = iter.Seq2[model.Delta, error]

package run_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// BenchmarkTwoStep is a whole background run of two steps (a tool call, then a
// text) on the memory store, which encodes and decodes every record: submit,
// two claims, three commits. Every part of the engine is in use, by three plugins
// that ask for nothing: hooks of all phases, gates, transforms, handlers, keys.
func BenchmarkTwoStep(b *testing.B) { benchTwoSteps(b, options{plugins: idlePlugins()}) }

// BenchmarkTwoStepBare is BenchmarkTwoStep without plugins.
func BenchmarkTwoStepBare(b *testing.B) { benchTwoSteps(b, options{}) }

func idlePlugins() []plugin.Plugin {
	return []plugin.Plugin{idlePlugin("one"), idlePlugin("two"), idlePlugin("three")}
}

func idlePlugin(id string) plugin.Plugin {
	return pluginFunc{id, func(r *plugin.Registrar) {
		r.Key(state.List[string](id, state.ScopeRun))
		r.OnRunStart(idle[plugin.RunStart])
		r.OnStepStart(idle[plugin.StepStart])
		r.OnBeforeInference(idle[plugin.BeforeInference])
		r.OnAfterInference(idle[plugin.AfterInference])
		r.OnBeforeTool(idle[plugin.BeforeTool])
		r.OnAfterTool(idle[plugin.AfterTool])
		r.OnStepEnd(idle[plugin.StepEnd])
		r.OnRunEnd(idle[plugin.RunEnd])
		r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return plugin.Allow, nil })
		r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { return nil })
		plugin.Action[string]{Phase: core.PhaseStepEnd, Name: id}.Handle(r, func(context.Context, plugin.HandlerContext, string) (state.Command, error) {
			return state.Command{}, nil
		})
		plugin.Effect[string]{Name: id}.Handle(r, func(context.Context, plugin.HandlerContext, string) error { return nil })
	}}
}

func idle[C any](context.Context, C) (state.Command, error) { return state.Command{}, nil }

// direct is a mailbox and a stepper on a memory store, with nothing between them
// that a test could watch: what a run allocates is the run's.
type direct struct {
	box     *mailbox.Service
	stepper *run.Stepper
}

func newDirect(tb testing.TB, o options) direct {
	tb.Helper()
	return newDirectOn(tb, o, memory.New())
}

func newDirectOn(tb testing.TB, o options, data store.Backend) direct {
	tb.Helper()
	o = o.complete(tb)
	box, err := mailbox.New(mailbox.Options{Env: o.env, Store: data, Waker: &mailboxtest.Queue{}, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	stepper, err := run.New(run.Options{
		Env: o.env, Store: data, Committer: box, Agents: unpinned{resolver: o.agents}, Logger: quiet,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return direct{box, stepper}
}

// twoSteps is a background run of two steps on a thread of its own.
func (d direct) twoSteps(tb testing.TB, name string) {
	tb.Helper()
	key := core.ThreadKey{Tenant: "t", Thread: name}
	if _, err := d.box.Submit(tb.Context(), mailbox.Submission{
		Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("echo: hello")}, Mode: mailbox.ModeQueue,
	}); err != nil {
		tb.Fatal(err)
	}
	for steps := 1; ; steps++ {
		head, claimed, err := d.box.Claim(tb.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true)
		if err != nil || !claimed {
			tb.Fatalf("claim: %v, claimed %v", err, claimed)
		}
		stepped, err := d.stepper.Step(tb.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil {
			tb.Fatal(err)
		}
		if done := stepped.Outcome == thread.Done; done != (steps == 2) {
			tb.Fatalf("step %d of two: %v", steps, stepped.Outcome)
		} else if done {
			return
		}
	}
}

// benchTwoSteps takes a new store now and then, so that what is measured is free
// of the collector's work on all that is stored.
func benchTwoSteps(b *testing.B, o options) {
	d := newDirect(b, o)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 999 {
			b.StopTimer()
			d = newDirect(b, o)
			b.StartTimer()
		}
		d.twoSteps(b, strconv.Itoa(i))
	}
}

// BenchmarkToolOverSlowStore is a run of two steps, over a store whose writes take 5 ms,
// with a tool that takes as long: one that acts, and one that only reads, which runs while
// its turn is written.
func BenchmarkToolOverSlowStore(b *testing.B) {
	const takes = 5 * time.Millisecond
	for _, only := range []bool{false, true} {
		b.Run(fmt.Sprintf("read-only-%t", only), func(b *testing.B) {
			slow := &storetest.Faulty{Backend: memory.New(), Around: func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Writes() {
					time.Sleep(takes)
				}
				return do(ctx)
			}}
			d := newDirectOn(b, options{model: replies(calls("look", "{}"), text("ok")), tools: []tool.Tool{
				toolFunc{name: "look", readOnly: only, run: func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(takes)
					return tool.NewResult("seen"), nil
				}},
			}}, slow)
			for i := 0; b.Loop(); i++ {
				d.twoSteps(b, strconv.Itoa(i))
			}
		})
	}
}

// BenchmarkInterruptResume is a run whose only call waits for a person: it is
// submitted, taken to the wait, decided, and taken on to its end, in a thread that
// already has so many messages of 200 bytes and that this process knows. A thread
// serves 20 runs, so that its length is what the name says.
func BenchmarkInterruptResume(b *testing.B) {
	for _, history := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("history-%d", history), func(b *testing.B) {
			o := options{ // the window keeps small what the scripted model takes to count the words of a request
				plugins: append(idlePlugins(), asking("echo")),
				context: &agent.ContextWindowPolicy{MaxContextTokens: 33_000, MaxOutputTokens: 1_000},
			}
			b.ReportAllocs()
			var d direct
			var key core.ThreadKey
			for i := 0; b.Loop(); i++ {
				if i%20 == 0 {
					b.StopTimer()
					d, key = newDirect(b, o), core.ThreadKey{Tenant: "t", Thread: "t1"}
					d.history(b, key, history)
					b.StartTimer()
				}
				d.interrupted(b, key)
			}
		})
	}
}

// history gives the thread so many messages, as one input, and takes the run that
// answers them: this process knows the thread then.
func (d direct) history(tb testing.TB, key core.ThreadKey, n int) {
	tb.Helper()
	if n == 0 {
		return
	}
	messages := make([]core.Message, n-1)
	for i := range messages {
		messages[i] = core.UserMessage(strings.Repeat("x", 200))
	}
	d.submit(tb, key, messages...)
	if got := d.step(tb, key); got != thread.Done {
		tb.Fatalf("the run before comes to %v", got)
	}
}

// interrupted is a run of one call that waits until it is decided.
func (d direct) interrupted(tb testing.TB, key core.ThreadKey) {
	tb.Helper()
	receipt := d.submit(tb, key, core.UserMessage("echo: hello"))
	if got := d.step(tb, key); got != thread.Wait {
		tb.Fatalf("the call comes to %v, want a wait", got)
	}
	if _, err := d.box.Decide(tb.Context(), key, mailbox.Deciding{Run: receipt.RunID, Target: "gate0", Decision: approve}); err != nil {
		tb.Fatal(err)
	}
	for _, want := range []thread.Outcome{thread.Yield, thread.Done} {
		if got := d.step(tb, key); got != want {
			tb.Fatalf("the decided call comes to %v, want %v", got, want)
		}
	}
}

func (d direct) submit(tb testing.TB, key core.ThreadKey, messages ...core.Message) mailbox.Receipt {
	tb.Helper()
	receipt, err := d.box.Submit(tb.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: messages, Mode: mailbox.ModeQueue})
	if err != nil {
		tb.Fatal(err)
	}
	return receipt
}

func (d direct) step(tb testing.TB, key core.ThreadKey) thread.Outcome {
	tb.Helper()
	head, claimed, err := d.box.Claim(tb.Context(), core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, true)
	if err != nil || !claimed {
		tb.Fatalf("claim: %v, claimed %v", err, claimed)
	}
	stepped, err := d.stepper.Step(tb.Context(), run.Work{Key: key, Head: head}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return stepped.Outcome
}

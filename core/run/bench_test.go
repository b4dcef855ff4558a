package run_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/window"
)

// BenchmarkTwoStep is a whole background run of two steps (a tool call, then a
// text) on the memory store, which encodes and decodes every record: submit,
// two claims, three commits.
func BenchmarkTwoStep(b *testing.B) { benchTwoSteps(b, options{}) }

// BenchmarkTwoStepIdlePlugins is BenchmarkTwoStep with three plugins that have a
// hook in every phase and ask for nothing there.
func BenchmarkTwoStepIdlePlugins(b *testing.B) {
	benchTwoSteps(b, options{plugins: []plugin.Plugin{idlePlugin("one"), idlePlugin("two"), idlePlugin("three")}})
}

func idlePlugin(id string) plugin.Plugin {
	idle := func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, nil }
	return pluginFunc{id, func(r *plugin.Registrar) {
		for _, phase := range []core.Phase{
			core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
			core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd,
		} {
			r.Hook(phase, idle)
		}
	}}
}

// direct is a mailbox and a stepper on a memory store, with nothing between them
// that a test could watch: what a run allocates is the run's.
type direct struct {
	box     *mailbox.Service
	stepper *run.Stepper
}

func newDirect(tb testing.TB, o options) direct {
	tb.Helper()
	o = o.complete(tb)
	data := memory.New()
	box, err := mailbox.New(mailbox.Options{Env: o.env, Store: data, Waker: &mailboxtest.Queue{}, Logger: quiet})
	if err != nil {
		tb.Fatal(err)
	}
	stepper, err := run.New(run.Options{
		Env: o.env, Store: data, Committer: box, Agents: o.agents, Logger: quiet, Window: window.Newest(0),
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
		Thread: key, AgentID: "demo", Messages: []core.Message{core.UserMessage("", "echo: hello")}, Mode: mailbox.ModeQueue,
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

package run_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// BenchmarkTwoStep is a whole background run of two steps (a tool call, then a
// text) on the memory store, which encodes and decodes every record: submit,
// two claims, three commits.
func BenchmarkTwoStep(b *testing.B) { twoSteps(b, options{}) }

// BenchmarkTwoStepIdlePlugins is BenchmarkTwoStep with three plugins that have a
// hook in every phase and ask for nothing there.
func BenchmarkTwoStepIdlePlugins(b *testing.B) {
	twoSteps(b, options{plugins: []plugin.Plugin{idlePlugin("one"), idlePlugin("two"), idlePlugin("three")}})
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

// twoSteps takes a new store now and then, so that what is measured is free of
// the collector's work on all that is stored.
func twoSteps(b *testing.B, o options) {
	w := newWorld(b, o)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 999 {
			b.StopTimer()
			w = newWorld(b, o)
			b.StartTimer()
		}
		key := core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(i)}
		w.submit(b, key, "echo: hello", mailbox.ModeQueue)
		head := w.take(b, key)
		for {
			result, err := w.stepper.Step(b.Context(), run.Work{Key: key, Head: head}, nil)
			if err != nil {
				b.Fatal(err)
			}
			if result.Outcome == thread.Done {
				break
			}
			head = w.take(b, key)
		}
	}
}

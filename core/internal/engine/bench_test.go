package engine_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

func hooked(tb testing.TB, n int) *engine.Engine {
	tb.Helper()
	plugins := []plugin.Plugin{keys}
	for i := range n {
		plugins = append(plugins, on(fmt.Sprintf("hook%d", i), core.PhaseStepStart, write(tally, "x")))
	}
	e, err := engine.New(plugins, engine.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestPhaseWithoutHooksAllocatesNothing(t *testing.T) {
	e, outside := hooked(t, 0), env.System()
	got := testing.AllocsPerRun(100, func() {
		if _, err := e.Phase(t.Context(), outside, at(core.PhaseStepStart, state.Snapshot{})); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func BenchmarkPhase(b *testing.B) {
	for _, n := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("hooks=%d", n), func(b *testing.B) {
			e, outside := hooked(b, n), env.System()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Phase(b.Context(), outside, at(core.PhaseStepStart, state.Snapshot{})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

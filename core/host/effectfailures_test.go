package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// Effects that fail are counted for whoever runs the process.
func TestFailedEffectsOfAProcessAreCounted(t *testing.T) {
	act := plugin.Effect[string]{Name: "act"}
	parts := soloParts()
	parts.Plugins = append(parts.Plugins, effectPlugin{act})
	parts.Specs[0].Plugins = append(parts.Specs[0].Plugins, "effects")
	rt := newSolo(t, parts)
	for run, want := range []int64{2, 4} {
		if _, err := rt.Run(t.Context(), "demo", "hello"); err != nil {
			t.Fatal(err)
		}
		if got := rt.Stats().EffectFailures; got != want {
			t.Errorf("behind run %d %d failed effects are counted, want %d", run+1, got, want)
		}
	}
}

// effectPlugin emits three effects at a run's start, the second of which works.
type effectPlugin struct{ act plugin.Effect[string] }

func (effectPlugin) ID() string { return "effects" }

func (p effectPlugin) Register(r *plugin.Registrar) error {
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) {
		return state.Combine(p.act.Emit("fail"), p.act.Emit("a"), p.act.Emit("fail")), nil
	})
	p.act.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
		if what == "fail" {
			return errors.New("no stamp")
		}
		return nil
	})
	return nil
}

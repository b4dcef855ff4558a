package inference

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/model"
)

// A claim that was lost may have cost a model call, but never the last one.
func TestModelCallsSoFar(t *testing.T) {
	for _, tt := range []struct{ failed, lost, allowed, want uint8 }{
		{0, 0, 3, 0}, {0, 1, 3, 1}, {0, 2, 3, 2}, {0, 3, 3, 2}, {0, 255, 3, 2}, {1, 0, 3, 1}, {1, 1, 3, 2}, {1, 2, 3, 2}, {2, 0, 3, 2}, {2, 9, 3, 2}, {3, 0, 3, 3},
		{0, 0, 1, 0}, {0, 9, 1, 0}, {1, 9, 1, 1}, {255, 255, 1, 255}, {3, 4, 21, 7}, {19, 4, 21, 20},
	} {
		if got := callsSoFar(tt.failed, tt.lost, tt.allowed); got != tt.want {
			t.Errorf("%d failed and %d lost of %d are %d calls, want %d", tt.failed, tt.lost, tt.allowed, got, tt.want)
		}
	}
}

// The limit of the pause doubles with each failed call.
func TestPausesAfterAFailedModelCall(t *testing.T) {
	const s = time.Second
	for kind, want := range map[model.ErrorKind][]time.Duration{
		model.KindProvider:   {s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s},
		model.KindOverloaded: {2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s},
	} {
		for i, limit := range append(want, 30*s) {
			if got := Pause(agent.Retry{}, kind, uint8(i+1)); got != limit {
				t.Errorf("after %d failures of kind %s the pause is under %s, want %s", i+1, kind, got, limit)
			}
		}
		if got := Pause(agent.Retry{}, kind, 255); got != 30*s {
			t.Errorf("after 255 failures of kind %s the pause is under %s, want 30s", kind, got)
		}
	}
}

func TestPausesAreTheAgents(t *testing.T) {
	slow := agent.Retry{BackoffBaseMS: new(3000), OverloadedBackoffBaseMS: new(0)}
	if got := Pause(slow, model.KindProvider, 2); got != 6*time.Second {
		t.Errorf("after 2 failures the pause is under %s, want 6s", got)
	}
	if got := Pause(slow, model.KindOverloaded, 2); got != 0 {
		t.Errorf("after 2 failures of an overloaded provider the pause is under %s, want none", got)
	}
}

// A step whose pool has nobody to call waits for the circuit that lets a call through
// first, unless the pool may not switch any more.
func TestAPoolWaitsForTheFirstCircuit(t *testing.T) {
	never := false
	tests := []struct {
		name  string
		rules agent.PoolSwitch
		made  int
		want  time.Duration
	}{
		{"any member", agent.PoolSwitch{}, 3, 10 * time.Second},
		{"as often as it may", agent.PoolSwitch{MaxSwitches: 4}, 3, 10 * time.Second},
		{"and not more often", agent.PoolSwitch{MaxSwitches: 3}, 3, 20 * time.Second},
		{"circuits are no reason", agent.PoolSwitch{OnCircuitOpen: &never}, 0, 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := env.System()
				e.Random = func(b []byte) { clear(b) } // no jitter
				events := history.NewEmitter(core.ID{1}, 1, nil)
				circuits := &Circuits{Env: e}
				east, west := &registry.BoundModel{ID: "east", Name: "east"}, &registry.BoundModel{ID: "west", Name: "west"}
				fail := func(m *registry.BoundModel) {
					for range 5 {
						permit, _ := circuits.breakers.Begin(circuitOf(m, m.Name), e.Now())
						circuits.breakers.End(permit, breaker.CallFailed, e.Now())
					}
				}
				fail(east)
				time.Sleep(10 * time.Second)
				fail(west)
				time.Sleep(10 * time.Second)
				turn := &Turn{step: Step{Circuits: circuits, Events: &events, Claim: quiet{}}, model: west, member: west, pool: &choice{rules: tt.rules, order: []*registry.BoundModel{west, east}, switches: tt.made}}
				err := turn.refused(t.Context(), 20*time.Second)
				if again, ok := err.(*RetryError); !ok || again.Wait != tt.want {
					t.Errorf("%v, want a wait of %s", err, tt.want)
				}
			})
		})
	}
}

// quiet is a claim that nothing is asked of but to log.
type quiet struct{ Claim }

func (quiet) Warn(context.Context, string, ...any) {}

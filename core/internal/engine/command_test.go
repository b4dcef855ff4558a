package engine_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// The error of a payload is the phase's where it is committed, and names what it
// was for; nobody has to look at it before.
func TestAPayloadThatJSONCannotExpressIsTheHooksError(t *testing.T) {
	action := plugin.Action[float64]{Phase: core.PhaseStepEnd, Name: "wait"}
	effect := plugin.Effect[float64]{Name: "mail"}
	ratio := state.Key[float64, float64]{Name: "ratio", Apply: func(_, u float64) float64 { return u }}
	tests := []struct {
		name    string
		command state.Command
		want    string
	}{
		{"an action's", action.Schedule(math.NaN()), `encoding the payload of action "wait": json: unsupported value: NaN`},
		{"an effect's", effect.Emit(math.NaN()), `encoding the payload of effect "mail": json: unsupported value: NaN`},
		{"an update's", ratio.Update(math.NaN()), `encoding an update of state key "ratio": json: unsupported value: NaN`},
		{"a value's", state.Set(ratio, math.NaN()), `encoding a value of state key "ratio": json: unsupported value: NaN`},
		{"the first of two", state.Combine(effect.Emit(math.NaN()), ratio.Update(math.NaN())), `encoding the payload of effect "mail": json: unsupported value: NaN`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := built(t, on("bad", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) {
				return state.Combine(tally.Update("before"), test.command, tally.Update("after")), nil
			}))
			got, err := e.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
			if diff := cmp.Diff(`plugin "bad" in phase step_end: `+test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if !got.Command.IsZero() || got.Patch != nil || got.Snapshot.Revision() != 0 {
				t.Errorf("something was committed: %v", got)
			}
		})
	}
}

// Updates of a commutative key go together; a set or a clear goes with nothing, so
// the later hook runs again and sees what the earlier one left.
func TestASetOrClearOfACommutativeKeyCollides(t *testing.T) {
	update := func([]string) state.Command { return tally.Update("u") }
	set := func(seen []string) state.Command { return state.Set(tally, append(seen, "s")) }
	clear := func([]string) state.Command { return tally.Clear() }
	tests := []struct {
		name          string
		first, second func(seen []string) state.Command
		want          []string
		runs          int // of the second
	}{
		{"two updates", update, update, []string{"0", "u", "u"}, 1},
		{"a set behind an update", update, set, []string{"0", "u", "s"}, 2},
		{"an update behind a set", set, update, []string{"0", "s", "u"}, 2},
		{"two sets", set, set, []string{"0", "s", "s"}, 2},
		{"a clear behind an update", update, clear, nil, 2},
		{"an update behind a clear", clear, update, []string{"u"}, 2},
		{"a set behind a clear", clear, set, []string{"s"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			runs := map[string]int{}
			var lone sync.Mutex // hooks run side by side
			returns := func(id string, command func([]string) state.Command) part {
				return on(id, core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) {
					lone.Lock()
					runs[id]++
					lone.Unlock()
					seen, err := tally.Read(c.Snapshot)
					return command(seen), err
				})
			}
			e := built(t, returns("first", test.first), returns("second", test.second))
			start, err := e.Submit(state.Snapshot{}, 0, tally.Update("0"))
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, e, at(core.PhaseStepEnd, start.Snapshot))
			if diff := cmp.Diff(test.want, read(t, tally, got.Snapshot)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]int{"first": 1, "second": test.runs}, runs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Reading a key of a plugin that the agent does not have is an error, and no zero
// value: in a hook, a gate, and the handlers.
func TestAKeyThatIsNotRegisteredCannotBeRead(t *testing.T) {
	foreign := state.Key[int, int]{Name: "foreign", Apply: func(v, u int) int { return v + u }}
	look := func(c plugin.Context) error {
		_, err := foreign.Read(c.Snapshot)
		return err
	}
	hooked := built(t, on("looks", core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) { return state.Command{}, look(c) }))
	gated := built(t, part{"looks", func(r *plugin.Registrar) error {
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Allow, look(c.Context)
		})
		return nil
	}})
	handled := built(t, part{"looks", func(r *plugin.Registrar) error {
		note.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ string) (state.Command, error) {
			return state.Command{}, look(c.Context)
		})
		mail.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ string) error { return look(c.Context) })
		return nil
	}})
	const want = `reading state: unknown state key "foreign"`

	_, err := hooked.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
	if diff := cmp.Diff(`plugin "looks" in phase step_end: `+want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	_, err = gated.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1"))
	if diff := cmp.Diff(`gate of plugin "looks": `+want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	errs := handled.RunEffects(t.Context(), at("", state.Snapshot{}), mail.Emit("hi").Effects)
	if diff := cmp.Diff(`[effect "mail" of plugin "looks": `+want+`]`, fmt.Sprint(errs)); diff != "" {
		t.Error(diff)
	}
	waiting, err := handled.Submit(state.Snapshot{}, 0, notes("one"))
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, handled, at(core.PhaseBeforeInference, waiting.Snapshot))
	failed, err := engine.FailedScheduledActions.Read(got.Snapshot)
	if err != nil || len(failed) != 1 || failed[0].Error != want {
		t.Errorf("failed actions %v, %v, want one that says %s", failed, err, want)
	}
}

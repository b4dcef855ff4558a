package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// says returns an update that tells how much of the key the hook has seen, so that
// what it returned when it ran again is told apart.
func says(k state.Key[[]string, string], name string) hook {
	return func(_ context.Context, c plugin.Context) (state.Command, error) {
		v, err := k.Read(c.Snapshot)
		return k.Update(fmt.Sprintf("%s saw %d", name, len(v))), err
	}
}

// based returns what h does, for the revision that it has seen only.
func based(h hook) hook {
	return func(ctx context.Context, c plugin.Context) (state.Command, error) {
		command, err := h(ctx, c)
		command.Batch = command.Batch.On(c.Snapshot)
		return command, err
	}
}

func returns(c state.Command) hook {
	return func(context.Context, plugin.Context) (state.Command, error) { return c, nil }
}

// What the hooks of a phase come to: each sees the state as it was when the phase
// began, and one whose change does not go with that of an earlier one runs again on
// what is there then. A phase that fails comes to nothing.
func TestPhaseConvergence(t *testing.T) {
	nine := uint64(9)
	tests := []struct {
		name  string
		hooks []hook // of the plugins a, b, c
		asked string // how often each ran
		patch string
		err   string
	}{
		{
			name:  "all see the state that the phase began with",
			hooks: []hook{says(tally, "a"), says(tally, "b"), says(tally, "c")}, asked: "a1 b1 c1",
			patch: `[{"op":"add","path":"/run/tally","value":["a saw 0"]},{"op":"add","path":"/run/tally/-","value":"b saw 0"},{"op":"add","path":"/run/tally/-","value":"c saw 0"}]`,
		},
		{
			name:  "an exclusive key: the others go first, then the second runs again",
			hooks: []hook{says(log, "a"), says(log, "b"), says(tally, "c")}, asked: "a1 b2 c1",
			patch: `[{"op":"add","path":"/thread/log","value":["a saw 0"]},{"op":"add","path":"/run/tally","value":["c saw 0"]},{"op":"add","path":"/thread/log/-","value":"b saw 1"}]`,
		},
		{
			name:  "those that run again do so one after the other",
			hooks: []hook{says(log, "a"), says(log, "b"), says(log, "c")}, asked: "a1 b2 c2",
			patch: `[{"op":"add","path":"/thread/log","value":["a saw 0"]},{"op":"add","path":"/thread/log/-","value":"b saw 1"},{"op":"add","path":"/thread/log/-","value":"c saw 2"}]`,
		},
		{
			name: "one that runs again may change its mind",
			hooks: []hook{says(log, "a"), func(ctx context.Context, c plugin.Context) (state.Command, error) {
				if v, err := log.Read(c.Snapshot); len(v) > 0 || err != nil {
					return state.Command{}, err
				}
				return log.Update("b"), nil
			}}, asked: "a1 b2",
			patch: `[{"op":"add","path":"/thread/log","value":["a saw 0"]}]`,
		},
		{
			name:  "hooks that change nothing",
			hooks: []hook{returns(state.Command{}), returns(state.Command{})}, asked: "a1 b1",
			patch: `null`,
		},
		{
			name:  "a batch for the revision that it meets",
			hooks: []hook{based(says(tally, "a")), says(tally, "b")}, asked: "a1 b1",
			patch: `[{"op":"add","path":"/run/tally","value":["a saw 0"]},{"op":"add","path":"/run/tally/-","value":"b saw 0"}]`,
		},
		{
			name:  "a batch for a revision that is gone: its hook runs again, behind the others",
			hooks: []hook{says(tally, "a"), based(says(tally, "b")), says(tally, "c")}, asked: "a1 b2 c1",
			patch: `[{"op":"add","path":"/run/tally","value":["a saw 0"]},{"op":"add","path":"/run/tally/-","value":"c saw 0"},{"op":"add","path":"/run/tally/-","value":"b saw 2"}]`,
		},
		{
			name:  "a batch for a revision that never comes",
			hooks: []hook{says(tally, "a"), returns(state.Command{Batch: state.Batch{Mutations: tally.Update("b").Batch.Mutations, Base: &nine}})}, asked: "a1 b2",
			err: `plugin "b" in phase step_start: committing state: the batch is for revision 9, the state is at revision 1`,
		},
		{
			name:  "an unknown key",
			hooks: []hook{says(tally, "a"), returns(state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}})}, asked: "a1 b1",
			err: `plugin "b" in phase step_start: unknown state key "nobody"`,
		},
		{
			name:  "an unknown action",
			hooks: []hook{says(tally, "a"), returns(state.Combine(tally.Update("b"), notes("x")))}, asked: "a1 b1",
			err: `plugin "b" in phase step_start: no handler for scheduled action "note" at phase "before_inference"`,
		},
		{
			name:  "an unknown effect",
			hooks: []hook{says(tally, "a"), returns(state.Combine(tally.Update("b"), mail.Emit("x")))}, asked: "a1 b1",
			err: `plugin "b" in phase step_start: no handler for effect "mail"`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex // hooks run side by side
			ran := make([]int, len(test.hooks))
			var plugins []plugin.Plugin
			for i, h := range test.hooks {
				plugins = append(plugins, on(string(rune('a'+i)), core.PhaseStepStart, func(ctx context.Context, c plugin.Context) (state.Command, error) {
					mu.Lock()
					ran[i]++
					mu.Unlock()
					return h(ctx, c)
				}))
			}
			got, err := built(t, plugins...).Phase(t.Context(), env.System(), at(core.PhaseStepStart, state.Snapshot{}))
			asked := ""
			for i, n := range ran {
				asked += fmt.Sprintf(" %c%d", 'a'+i, n)
			}
			if asked != " "+test.asked {
				t.Errorf("asked%s, want %s", asked, test.asked)
			}
			if err != nil || test.err != "" {
				if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if !got.Command.IsZero() || got.Patch != nil || got.Snapshot.Revision() != 0 {
					t.Errorf("a phase that failed came to %v", got)
				}
				return
			}
			if patch, err := json.Marshal(got.Patch); err != nil || string(patch) != test.patch {
				t.Errorf("patch %s, %v\nwant  %s", patch, err, test.patch)
			}
			checkPatch(t, state.Snapshot{}, got)
		})
	}
}

// A phase has kept to the revisions that its hooks asked for. What it hands on is for
// the revision that it began with, if any of them asked, and for any other else: so
// it can be applied as one, and whoever applies it elsewhere knows.
func TestAPhaseIsForTheRevisionThatItBeganWith(t *testing.T) {
	began := state.Snapshot{}.With(7, map[state.KeyPath]json.RawMessage{{Name: "tally"}: json.RawMessage(`["x"]`)})
	seven := uint64(7)
	tests := []struct {
		name  string
		hooks []hook
		want  *uint64
	}{
		{"none asked", []hook{says(tally, "a"), says(tally, "b")}, nil},
		{"the first", []hook{based(says(tally, "a")), says(tally, "b")}, &seven},
		{"one that ran again", []hook{says(tally, "a"), based(says(tally, "b"))}, &seven},
		{"all", []hook{based(says(tally, "a")), based(says(log, "b")), based(says(tally, "c"))}, &seven},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var hooks, gates []plugin.Plugin
			for i, h := range test.hooks {
				id := string(rune('a' + i))
				hooks = append(hooks, on(id, core.PhaseBeforeToolExecute, h))
				gates = append(gates, part{id, func(r *plugin.Registrar) error {
					r.Gate(func(ctx context.Context, c plugin.GateCall) (plugin.Verdict, error) {
						command, err := h(ctx, c.Context)
						return plugin.Allow.With(command), err
					})
					return nil
				}})
			}
			phase := run(t, built(t, hooks...), call(core.PhaseBeforeToolExecute, began, 0, "c"))
			if diff := cmp.Diff(test.want, phase.Command.Batch.Base); diff != "" {
				t.Errorf("of a phase: %s", diff)
			}
			e := built(t, gates...)
			verdict, err := e.Gate(t.Context(), call("", began, 0, "c"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, verdict.Command.Batch.Base); diff != "" {
				t.Errorf("of gates: %s", diff)
			}
			for name, c := range map[string]state.Command{"a phase": phase.Command, "gates": verdict.Command} {
				if got, err := e.Submit(began, 0, c); err != nil || got.Snapshot.Revision() != 8 {
					t.Errorf("what %s came to cannot be submitted: revision %d, %v", name, got.Snapshot.Revision(), err)
				}
			}
		})
	}
}

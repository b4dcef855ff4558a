package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// scratch belongs to one tool call; fuse takes one update and no second one.
var (
	scratch = state.Appending(state.Key[[]string, string]{Name: "scratch", Scope: state.ScopeCall})
	fuse    = state.Key[int, int]{Name: "fuse", Scope: state.ScopeThread, Merge: state.Commutative, Apply: func(v, u int) int {
		if v > 0 {
			panic("blown")
		}
		return v + u
	}}
	extra = part{"extra", func(r *plugin.Registrar) error {
		r.Key(scratch.Definition())
		r.Key(fuse.Definition())
		return nil
	}}
)

func light(context.Context, plugin.Context) (state.Command, error) {
	var c state.Command
	err := fuse.Update(&c, 1)
	return c, err
}

func TestUpdatesThatFailOnlyTogetherAreTheLatersError(t *testing.T) {
	e := engine(t, extra, on("one", core.PhaseStepEnd, light), on("other", core.PhaseStepEnd, light))
	got, err := e.Phase(t.Context(), env.System(), plugin.Context{Phase: core.PhaseStepEnd})
	want := `plugin "other" in phase step_end: committing state: applying an update of state key "fuse": panic: blown`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if len(got.Patch) != 0 || !got.Command.IsZero() || len(values(got.Snapshot)) != 0 {
		t.Errorf("something is left to store: %v", got)
	}
	// What is there stays readable and changeable for those who do not collide.
	alone := run(t, engine(t, extra, on("one", core.PhaseStepEnd, light)), plugin.Context{Phase: core.PhaseStepEnd})
	if diff := cmp.Diff(map[string]string{"/thread/fuse": "1"}, values(alone.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestCallsThatFailOnlyTogetherAreTheLatersError(t *testing.T) {
	e := engine(t, extra)
	var c state.Command
	if err := fuse.Update(&c, 1); err != nil {
		t.Fatal(err)
	}
	first, err := e.Submit(state.Snapshot{}, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Submit(first.Snapshot, 1, c)
	var panicked *env.PanicError
	if !errors.As(err, &panicked) {
		t.Errorf("got %v, want a PanicError", err)
	}
	if diff := cmp.Diff(map[string]string{"/thread/fuse": "1"}, values(first.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestCallsSeeTheirOwnScratchOnly(t *testing.T) {
	var effects []string
	look := func(ctx context.Context, c plugin.Context) (state.Command, error) {
		v, err := scratch.Read(c.Snapshot)
		if err != nil {
			return state.Command{}, err
		}
		return write(scratch, fmt.Sprintf("%s saw %d", c.Phase, len(v)))(ctx, c)
	}
	e := engine(t, extra, on("before", core.PhaseBeforeToolExecute, look), on("after", core.PhaseAfterToolExecute, look), part{"rest", func(r *plugin.Registrar) error {
		r.Gate(func(_ context.Context, c plugin.Context) (plugin.Verdict, error) {
			_, err := scratch.Read(c.Snapshot)
			return plugin.Verdict{}, err
		})
		r.Effect("look", func(_ context.Context, c plugin.Context, _ json.RawMessage) error {
			v, err := scratch.Read(c.Snapshot)
			effects = append(effects, v...)
			return err
		})
		return nil
	}})
	var s state.Snapshot
	for i := range 2 {
		c := plugin.Context{Phase: core.PhaseBeforeToolExecute, Snapshot: s, Call: &core.ToolCall{ID: "same id"}, CallIndex: i}
		if _, err := e.Gate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Snapshot = run(t, e, c).Snapshot
		var own state.Command
		if err := scratch.Update(&own, fmt.Sprintf("tool %d", i)); err != nil {
			t.Fatal(err)
		}
		submitted, err := e.Submit(c.Snapshot, i, own)
		if err != nil {
			t.Fatal(err)
		}
		checkPatch(t, c.Snapshot, submitted)
		c.Snapshot, c.Phase = submitted.Snapshot, core.PhaseAfterToolExecute
		s = run(t, e, c).Snapshot
		if err := e.RunEffects(t.Context(), plugin.Context{Snapshot: s, Call: c.Call, CallIndex: i}, []state.Effect{{Key: "look"}}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"/call/0/scratch": `["before_tool_execute saw 0","tool 0","after_tool_execute saw 2"]`,
		"/call/1/scratch": `["before_tool_execute saw 0","tool 1","after_tool_execute saw 2"]`,
	}
	if diff := cmp.Diff(want, values(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"before_tool_execute saw 0", "tool 0", "after_tool_execute saw 2", "before_tool_execute saw 0", "tool 1", "after_tool_execute saw 2"}, effects); diff != "" {
		t.Error(diff)
	}
	if _, err := scratch.Read(s); !errors.Is(err, state.ErrNoCall) {
		t.Errorf("after the round: %v, want ErrNoCall", err)
	}
}

func TestAPhaseOfTheStepHasNoCall(t *testing.T) {
	e := engine(t, extra, on("lost", core.PhaseStepEnd, write(scratch, "x")))
	_, err := e.Phase(t.Context(), env.System(), plugin.Context{Phase: core.PhaseStepEnd})
	want := `plugin "lost" in phase step_end: committing state: state key "scratch" belongs to one tool call: the snapshot is bound to no tool call`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// Every hook of a step, whichever runs when, takes a revision for one state.
func TestARevisionNamesOneStateWhicheverHookLooks(t *testing.T) {
	states := map[uint64]map[string]string{}
	look := func(name string) plugin.Hook {
		return func(ctx context.Context, c plugin.Context) (state.Command, error) {
			now := values(c.Snapshot)
			if then, known := states[c.Snapshot.Revision()]; known {
				if diff := cmp.Diff(then, now); diff != "" {
					t.Errorf("revision %d names two states: %s", c.Snapshot.Revision(), diff)
				}
			}
			states[c.Snapshot.Revision()] = now
			return write(log, name)(ctx, c)
		}
	}
	var plugins []plugin.Plugin
	phases := []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference, core.PhaseStepEnd}
	for _, phase := range phases {
		// The second hook collides with the first, and so looks before and after it.
		plugins = append(plugins, on("first-"+string(phase), phase, write(log, "first")), on("second-"+string(phase), phase, look("second")))
	}
	e := engine(t, plugins...)
	var s state.Snapshot
	for _, phase := range phases {
		s = run(t, e, plugin.Context{Phase: phase, Snapshot: s}).Snapshot
	}
	if len(states) != 10 || s.Revision() != 10 {
		t.Errorf("%d states were seen up to revision %d, want 10 up to 10", len(states), s.Revision())
	}
}

func TestEveryPhaseHandsItsEffectsOut(t *testing.T) {
	phases := []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
		core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd}
	for _, phase := range phases {
		t.Run(string(phase), func(t *testing.T) {
			e := engine(t, actor(nil), on("mails", phase, func(context.Context, plugin.Context) (c state.Command, err error) {
				return c, mail.Emit(&c, "hi")
			}))
			got := run(t, e, plugin.Context{Phase: phase})
			if diff := cmp.Diff([]state.Effect{{Key: "mail", Payload: json.RawMessage(`"hi"`)}}, got.Command.Effects); diff != "" {
				t.Error(diff)
			}
			if len(got.Patch) != 0 || got.Snapshot.Revision() != 0 {
				t.Errorf("revision %d, patch %v", got.Snapshot.Revision(), got.Patch)
			}
		})
	}
}

// Two calls of one round run side by side on the same state; what their phases
// came to is merged one after the other. What each of them scheduled and
// finished must not come back.
func TestActionsOfParallelCallsDoNotMeet(t *testing.T) {
	e := engine(t, actor(nil), on("asks", core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
		command := notes(t, "later "+c.Call.ID)
		command.Actions = append(command.Actions, state.Action{Phase: core.PhaseAfterToolExecute, Key: "now", Payload: json.RawMessage(`"` + c.Call.ID + `"`)})
		return command, nil
	}), part{"now", func(r *plugin.Registrar) error {
		r.Action(core.PhaseAfterToolExecute, "now", func(ctx context.Context, c plugin.Context, payload json.RawMessage) (state.Command, error) {
			return write(tally, "now "+string(payload))(ctx, c)
		})
		return nil
	}})
	var frozen state.Snapshot
	var commands []state.Command
	for i, id := range []string{"c1", "c2"} {
		got := run(t, e, plugin.Context{Phase: core.PhaseAfterToolExecute, Snapshot: frozen, Call: &core.ToolCall{ID: id}, CallIndex: i})
		commands = append(commands, got.Command)
	}
	s := frozen
	for i, c := range commands {
		merged, err := e.Submit(s, i, c)
		if err != nil {
			t.Fatal(err)
		}
		checkPatch(t, s, merged)
		s = merged.Snapshot
	}
	got := run(t, e, plugin.Context{Phase: core.PhaseBeforeInference, Snapshot: s})
	got = run(t, e, plugin.Context{Phase: core.PhaseBeforeInference, Snapshot: got.Snapshot})
	if diff := cmp.Diff([]string{`now "c1"`, `now "c2"`, "later c1", "later c2"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestSubmitQueuesActionsAndKeepsEffects(t *testing.T) {
	e := engine(t, actor(nil))
	c := notes(t, "one")
	if err := mail.Emit(&c, "hi"); err != nil {
		t.Fatal(err)
	}
	got, err := e.Submit(state.Snapshot{}, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	checkPatch(t, state.Snapshot{}, got)
	patch, err := json.Marshal(got.Patch)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"op":"add","path":"/run/reveille.pending_actions","value":{"last":1,"queue":[{"action":{"key":"note","payload":"one","phase":"before_inference"},"id":1}]}}]`
	if diff := cmp.Diff(want, string(patch)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]state.Effect{{Key: "mail", Payload: json.RawMessage(`"hi"`)}}, got.Command.Effects); diff != "" {
		t.Error(diff)
	}
	// Stored intents come to the same again, as after a takeover.
	again, err := e.Submit(state.Snapshot{}, 0, c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Error(diff)
	}
}

func TestCheckAndSubmitRefuseWhatNobodyHandles(t *testing.T) {
	tests := []struct {
		name    string
		command state.Command
		want    string
		is      error
	}{
		{"a key", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}}, `unknown state key "nobody"`, state.ErrUnknownKey},
		{"an action", state.Command{Actions: []state.Action{{Phase: core.PhaseRunEnd, Key: "note"}}}, `no handler for scheduled action "note" at phase "run_end"`, plugin.ErrUnknownAction},
		{"an effect", state.Command{Effects: []state.Effect{{Key: "nobody"}}}, `no handler for effect "nobody"`, plugin.ErrUnknownEffect},
		{"what is no JSON", state.Command{Effects: []state.Effect{{Key: "mail", Payload: json.RawMessage("{")}}}, `payload of effect "mail" is not JSON`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := engine(t, actor(nil))
			for _, err := range []error{e.Check(test.command), errorOf(e.Submit(state.Snapshot{}, 0, test.command))} {
				if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("%v is not %v", err, test.is)
				}
			}
		})
	}
}

func errorOf(_ plugin.PhaseResult, err error) error { return err }

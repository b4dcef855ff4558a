package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// scratch belongs to one tool call; fuse takes one update and no second one.
var (
	scratch = state.List[string]("scratch", state.ScopeCall)
	fuse    = state.Key[int, int]{Name: "fuse", Scope: state.ScopeThread, Commutative: true, Apply: func(v, u int) int {
		if v > 0 {
			panic("blown")
		}
		return v + u
	}}
	extra = part{"extra", func(r *plugin.Registrar) error {
		r.Key(scratch)
		r.Key(fuse)
		return nil
	}}
)

func light(context.Context, plugin.Context) (state.Command, error) {
	return fuse.Update(1), nil
}

func TestUpdatesThatFailOnlyTogetherAreTheLatersError(t *testing.T) {
	e := built(t, extra, on("one", core.PhaseStepEnd, light), on("other", core.PhaseStepEnd, light))
	got, err := e.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
	want := `plugin "other" in phase step_end: committing state: applying an update of state key "fuse": panic: blown`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if len(got.Patch) != 0 || !got.Command.IsZero() || len(values(got.Snapshot)) != 0 {
		t.Errorf("something is left to store: %v", got)
	}
	// What is there stays readable and changeable for those who do not collide.
	alone := run(t, built(t, extra, on("one", core.PhaseStepEnd, light)), at(core.PhaseStepEnd, state.Snapshot{}))
	if diff := cmp.Diff(map[string]string{"/thread/fuse": "1"}, values(alone.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestCallsThatFailOnlyTogetherAreTheLatersError(t *testing.T) {
	e := built(t, extra)
	c := fuse.Update(1)
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
		return scratch.Update(fmt.Sprintf("%s saw %d", c.Phase, len(v))), nil
	}
	e := built(t, extra, on("before", core.PhaseBeforeToolExecute, look), on("after", core.PhaseAfterToolExecute, look), part{"rest", func(r *plugin.Registrar) error {
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			_, err := scratch.Read(c.Snapshot)
			return plugin.Allow, err
		})
		plugin.Effect[json.RawMessage]{Name: "look"}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) error {
			v, err := scratch.Read(c.Snapshot)
			effects = append(effects, v...)
			return err
		})
		return nil
	}})
	var s state.Snapshot
	for i := range 2 {
		m := call(core.PhaseBeforeToolExecute, s, i, "same id")
		if _, err := e.Gate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		m.Snapshot = run(t, e, m).Snapshot
		submitted, err := e.Submit(m.Snapshot, i, scratch.Update(fmt.Sprintf("tool %d", i)))
		if err != nil {
			t.Fatal(err)
		}
		checkPatch(t, m.Snapshot, submitted)
		s = run(t, e, call(core.PhaseAfterToolExecute, submitted.Snapshot, i, "same id")).Snapshot
		if err := e.RunEffects(t.Context(), call("", s, i, "same id"), []state.Effect{{Key: "look"}}); err != nil {
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
	if _, err := scratch.Read(s); err == nil || !strings.HasSuffix(err.Error(), "the snapshot is bound to no tool call") {
		t.Errorf("after the round: %v, want an error", err)
	}
}

func TestAPhaseOfTheStepHasNoCall(t *testing.T) {
	e := built(t, extra, on("lost", core.PhaseStepEnd, write(scratch, "x")))
	_, err := e.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
	want := `plugin "lost" in phase step_end: committing state: state key "scratch" belongs to one tool call: the snapshot is bound to no tool call`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// Every hook of a step, whichever runs when, takes a revision for one state.
func TestARevisionNamesOneStateWhicheverHookLooks(t *testing.T) {
	states := map[uint64]map[string]string{}
	look := func(name string) hook {
		return func(ctx context.Context, c plugin.Context) (state.Command, error) {
			now := values(c.Snapshot)
			if then, known := states[c.Snapshot.Revision()]; known {
				if diff := cmp.Diff(then, now); diff != "" {
					t.Errorf("revision %d names two states: %s", c.Snapshot.Revision(), diff)
				}
			}
			states[c.Snapshot.Revision()] = now
			return log.Update(name), nil
		}
	}
	var plugins []plugin.Plugin
	phases := []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference, core.PhaseStepEnd}
	for _, phase := range phases {
		// The second hook collides with the first, and so looks before and after it.
		plugins = append(plugins, on("first-"+string(phase), phase, write(log, "first")), on("second-"+string(phase), phase, look("second")))
	}
	e := built(t, plugins...)
	var s state.Snapshot
	for _, phase := range phases {
		s = run(t, e, at(phase, s)).Snapshot
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
			e := built(t, actor(nil), on("mails", phase, func(context.Context, plugin.Context) (state.Command, error) { return mail.Emit("hi"), nil }))
			got := run(t, e, at(phase, state.Snapshot{}))
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
	e := built(t, actor(nil), part{"now", func(r *plugin.Registrar) error {
		r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
			command := notes("later " + c.Call.ID)
			command.Actions = append(command.Actions, state.Action{Phase: core.PhaseAfterToolExecute, Key: "now", Payload: json.RawMessage(`"` + c.Call.ID + `"`)})
			return command, nil
		})
		plugin.Action[json.RawMessage]{Phase: core.PhaseAfterToolExecute, Name: "now"}.Handle(r, func(ctx context.Context, c plugin.HandlerContext, payload json.RawMessage) (state.Command, error) {
			return tally.Update("now " + string(payload)), nil
		})
		return nil
	}})
	after := func(s state.Snapshot, i int, id string) engine.Moment {
		m := call(core.PhaseAfterToolExecute, s, i, id)
		m.Result = &core.ToolResult{}
		return m
	}
	var frozen state.Snapshot
	var commands []state.Command
	for i, id := range []string{"c1", "c2"} {
		got := run(t, e, after(frozen, i, id))
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
	got := run(t, e, at(core.PhaseBeforeInference, s))
	got = run(t, e, at(core.PhaseBeforeInference, got.Snapshot))
	if diff := cmp.Diff([]string{`now "c1"`, `now "c2"`, "later c1", "later c2"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
}

func TestSubmitQueuesActionsAndKeepsEffects(t *testing.T) {
	e := built(t, actor(nil))
	c := state.Combine(notes("one"), mail.Emit("hi"))
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

var errUnmade = errors.New("no number")

func TestCheckAndSubmitRefuseWhatNobodyHandles(t *testing.T) {
	tests := []struct {
		name    string
		command state.Command
		want    string
		is      error
	}{
		{"a key", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}}, `unknown state key "nobody"`, stateerror.ErrUnknownKey},
		{"an action", state.Command{Actions: []state.Action{{Phase: core.PhaseRunEnd, Key: "note"}}}, `no handler for scheduled action "note" at phase "run_end"`, engine.ErrUnknownAction},
		{"an effect", state.Command{Effects: []state.Effect{{Key: "nobody"}}}, `no handler for effect "nobody"`, engine.ErrUnknownEffect},
		{"what could not be made", state.Combine(tally.Update("x"), state.Command{Err: errUnmade}), "no number", errUnmade},
		{"what is no JSON", state.Command{Effects: []state.Effect{{Key: "mail", Payload: json.RawMessage("{")}}}, `payload of effect "mail" is not JSON`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := built(t, actor(nil))
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

func errorOf(_ engine.PhaseResult, err error) error { return err }

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// log is exclusive: two hooks that touch it collide. tally is commutative.
var (
	log = state.Key[[]string, string]{Name: "log", Scope: state.ScopeThread,
		Apply: func(v []string, s string) []string { return append(v, s) }}
	tally = state.List[string]("tally", state.ScopeRun)
)

// part is a plugin of one function.
type part struct {
	id       string
	register func(r *plugin.Registrar) error
}

func (p part) ID() string { return p.id }

func (p part) Register(r *plugin.Registrar) error {
	if p.register == nil {
		return nil
	}
	return p.register(r)
}

// keys registers the keys of the tests.
var keys = part{"keys", func(r *plugin.Registrar) error {
	r.Key(log)
	r.Key(tally)
	return nil
}}

// hook is one that any phase takes.
type hook = plugin.Hook[plugin.Context]

// at is a phase of the step on a state.
func at(phase core.Phase, s state.Snapshot) engine.Moment {
	return engine.Moment{Context: plugin.Context{Phase: phase, Snapshot: s}}
}

// call is a phase of a call, or its gates.
func call(phase core.Phase, s state.Snapshot, index int, id string) engine.Moment {
	m := at(phase, s)
	m.Turn, m.Call, m.CallIndex = &core.Message{}, &core.ToolCall{ID: id}, index
	return m
}

func on(id string, phase core.Phase, h hook) part {
	return part{id, func(r *plugin.Registrar) error {
		r.Hook(phase, h)
		return nil
	}}
}

// write returns an update of k.
func write(k state.Key[[]string, string], text string) hook {
	return func(context.Context, plugin.Context) (state.Command, error) { return k.Update(text), nil }
}

func built(t *testing.T, plugins ...plugin.Plugin) *engine.Engine {
	t.Helper()
	e, err := engine.New(append([]plugin.Plugin{keys}, plugins...), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t *testing.T, k state.Key[[]string, string], s state.Snapshot) []string {
	t.Helper()
	v, err := k.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// run runs a phase and checks what holds for every one: its patch, stored and
// folded again, gives its snapshot.
func run(t *testing.T, e *engine.Engine, m engine.Moment) engine.PhaseResult {
	t.Helper()
	got, err := e.Phase(t.Context(), env.System(), m)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Command.Actions) != 0 {
		t.Errorf("the command still has actions %v", got.Command.Actions)
	}
	checkPatch(t, m.Snapshot, got)
	return got
}

func checkPatch(t *testing.T, before state.Snapshot, got engine.PhaseResult) {
	t.Helper()
	stored, err := json.Marshal(got.Patch)
	if err != nil {
		t.Fatal(err)
	}
	var patch state.Patch
	if err := json.Unmarshal(stored, &patch); err != nil {
		t.Fatal(err)
	}
	f := before.Fold()
	if err := f.Apply(patch, got.Snapshot.Revision()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(values(got.Snapshot), values(f.Snapshot())); diff != "" {
		t.Errorf("folding %s gives another state: %s", stored, diff)
	}
}

// values returns what a snapshot holds as text, by path.
func values(s state.Snapshot) map[string]string {
	all := map[string]string{}
	for _, path := range s.Paths() {
		value, _ := s.Value(path)
		all[path.String()] = string(value)
	}
	return all
}

func TestHooksCommitInRegistrationOrder(t *testing.T) {
	// The first hook returns only after the last one did.
	last := make(chan struct{})
	e := built(t,
		on("a", core.PhaseStepStart, func(ctx context.Context, c plugin.Context) (state.Command, error) {
			<-last
			return tally.Update("a"), nil
		}),
		on("b", core.PhaseStepStart, write(tally, "b")),
		on("c", core.PhaseStepStart, func(ctx context.Context, c plugin.Context) (state.Command, error) {
			close(last)
			return tally.Update("c"), nil
		}),
		on("other", core.PhaseStepEnd, write(tally, "x")),
	)
	got := run(t, e, at(core.PhaseStepStart, state.Snapshot{}))
	if diff := cmp.Diff([]string{"a", "b", "c"}, read(t, tally, got.Snapshot)); diff != "" {
		t.Error(diff)
	}
	if got.Snapshot.Revision() != 3 {
		t.Errorf("revision %d, want 3: each command is a commit", got.Snapshot.Revision())
	}
	want := `[{"op":"add","path":"/run/tally","value":["a"]},{"op":"add","path":"/run/tally/-","value":"b"},{"op":"add","path":"/run/tally/-","value":"c"}]`
	if patch, err := json.Marshal(got.Patch); err != nil || string(patch) != want {
		t.Errorf("patch %s, %v, want %s", patch, err, want)
	}
}

func TestExclusiveConflictsRunAgainInEveryPhase(t *testing.T) {
	phases := []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
		core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd}
	for _, phase := range phases {
		t.Run(string(phase), func(t *testing.T) {
			// seen writes how many entries the hook saw, so a second run shows.
			seen := func(name string) hook {
				return func(ctx context.Context, c plugin.Context) (state.Command, error) {
					v, err := log.Read(c.Snapshot)
					if err != nil {
						return state.Command{}, err
					}
					return log.Update(fmt.Sprintf("%s saw %d", name, len(v))), nil
				}
			}
			e := built(t, on("a", phase, seen("a")), on("b", phase, seen("b")), on("c", phase, write(tally, "c")), on("d", phase, seen("d")))
			got := run(t, e, at(phase, state.Snapshot{}))
			if diff := cmp.Diff([]string{"a saw 0", "b saw 1", "d saw 2"}, read(t, log, got.Snapshot)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"c"}, read(t, tally, got.Snapshot)); diff != "" {
				t.Error(diff)
			}
			if got.Snapshot.Revision() != 4 {
				t.Errorf("revision %d, want 4: each command is a commit", got.Snapshot.Revision())
			}
		})
	}
}

func TestPhaseWithoutWorkKeepsTheSnapshot(t *testing.T) {
	s := state.Snapshot{}.With(7, nil)
	tests := []struct {
		name string
		e    *engine.Engine
	}{
		{"no hooks", built(t)},
		{"a hook that does nothing", built(t, on("a", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, nil }))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, test.e, at(core.PhaseStepEnd, s))
			if got.Snapshot.Revision() != 7 || !got.Command.IsZero() || got.Patch != nil {
				t.Errorf("revision %d, command %v", got.Snapshot.Revision(), got.Command)
			}
		})
	}
}

func TestPhaseErrorsNamePluginAndPhase(t *testing.T) {
	command := func(c state.Command) hook {
		return func(context.Context, plugin.Context) (state.Command, error) { return c, nil }
	}
	refused := errors.New("refused")
	tests := []struct {
		name string
		hook hook
		want string
		is   error
	}{
		{"an error", func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, refused }, `plugin "bad" in phase step_end: refused`, refused},
		{"a panic", func(context.Context, plugin.Context) (state.Command, error) { panic("oh") }, `plugin "bad" in phase step_end: panic: oh`, nil},
		{"an unknown key", command(state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}}), `plugin "bad" in phase step_end: unknown state key "nobody"`, stateerror.ErrUnknownKey},
		{"an update that is no JSON", command(state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "log", Update: json.RawMessage("{")}}}}), `plugin "bad" in phase step_end: update of state key "log" is not JSON`, nil},
		{"an effect that is no JSON", command(state.Command{Effects: []state.Effect{{Key: "nobody", Payload: json.RawMessage("{")}}}), `plugin "bad" in phase step_end: payload of effect "nobody" is not JSON`, nil},
		{"a command that could not be made", command(state.Combine(tally.Update("x"), state.Command{Err: refused})), `plugin "bad" in phase step_end: refused`, refused},
		{"an unknown action", command(state.Command{Actions: []state.Action{{Phase: core.PhaseStepEnd, Key: "nobody"}}}), `plugin "bad" in phase step_end: no handler for scheduled action "nobody" at phase "step_end"`, engine.ErrUnknownAction},
		{"an unknown effect", command(state.Command{Effects: []state.Effect{{Key: "nobody"}}}), `plugin "bad" in phase step_end: no handler for effect "nobody"`, engine.ErrUnknownEffect},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The error must be the first in registration order, whatever comes first in time.
			e := built(t, on("good", core.PhaseStepEnd, write(tally, "x")), on("bad", core.PhaseStepEnd, test.hook),
				on("worse", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) { panic("later") }))
			got, err := e.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if got.Snapshot.Revision() != 0 || !got.Command.IsZero() || got.Patch != nil {
				t.Errorf("something was committed: %v", got)
			}
		})
	}
}

func TestFilterTurnsOffHooksGatesAndToolsOnly(t *testing.T) {
	greet := tool.New(tool.Spec{Name: "greet"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) { return tool.NewResult("hi"), nil })
	all := part{"all", func(r *plugin.Registrar) error {
		r.Key(state.Key[int, int]{Name: "own", Apply: func(v, u int) int { return u }})
		r.Hook(core.PhaseStepEnd, write(tally, "all"))
		r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Block(""), nil
		})
		r.Tool(greet)
		plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "act"}.Handle(r, func(ctx context.Context, c plugin.HandlerContext, _ json.RawMessage) (state.Command, error) {
			return tally.Update("acted"), nil
		})
		plugin.Effect[json.RawMessage]{Name: "send"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil })
		return nil
	}}
	schedule := on("schedule", core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) {
		return state.Command{Actions: []state.Action{{Phase: core.PhaseStepEnd, Key: "act"}}, Effects: []state.Effect{{Key: "send"}}}, nil
	})
	tests := []struct {
		name   string
		filter []string
		tally  []string
		tools  int
		blocks bool
	}{
		{"active", nil, []string{"all", "acted"}, 1, true},
		{"filtered", []string{"schedule"}, []string{"acted"}, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, err := engine.New([]plugin.Plugin{keys, all, schedule}, engine.Options{Filter: test.filter})
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, e, at(core.PhaseStepEnd, state.Snapshot{}))
			if diff := cmp.Diff(test.tally, read(t, tally, got.Snapshot)); diff != "" {
				t.Error(diff)
			}
			if len(e.Tools()) != test.tools || !e.Registry().Has("own") {
				t.Errorf("%d tools, key registered %v", len(e.Tools()), e.Registry().Has("own"))
			}
			verdict, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1"))
			if err != nil || verdict.Block != test.blocks {
				t.Errorf("verdict %+v, %v, want blocked %t", verdict, err, test.blocks)
			}
		})
	}
}

func TestARegistrarThatIsKeptChangesNothing(t *testing.T) {
	var kept *plugin.Registrar
	e, err := engine.New([]plugin.Plugin{part{"keeps", func(r *plugin.Registrar) error { kept = r; return nil }}}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { panic("it ran") })
	kept.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { panic("it ran") })
	if e.Listens(core.PhaseStepEnd) || e.Transforms() {
		t.Error("what was registered after New is part of the engine")
	}
}

// dig is a tool that does nothing.
func dig(name string) tool.Tool {
	return tool.New(tool.Spec{Name: name}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
}

func TestAnEngineGivesItsToolsAway(t *testing.T) {
	e := built(t, part{"digs", func(r *plugin.Registrar) error { r.Tool(dig("dig")); return nil }})
	e.Tools()[0] = nil
	if e.Tools()[0] == nil {
		t.Error("the engine has lost its tool")
	}
}

func TestListensToPhasesWithHooksOrHandlers(t *testing.T) {
	act := part{"acts", func(r *plugin.Registrar) error {
		plugin.Action[json.RawMessage]{Phase: core.PhaseStepStart, Name: "a"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
			return state.Command{}, nil
		})
		return nil
	}}
	e := built(t, act, on("hook", core.PhaseStepEnd, write(tally, "x")))
	var got []core.Phase
	for _, phase := range allPhases {
		if e.Listens(phase) {
			got = append(got, phase)
		}
	}
	want := []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseStepEnd} // the runtime's own actions are in the middle
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAHookThatFailsWhenItRunsAgainIsNamed(t *testing.T) {
	tests := []struct {
		name string
		hook hook
		want string
	}{
		{"its error", func(_ context.Context, c plugin.Context) (state.Command, error) {
			if log.Has(c.Snapshot) {
				return state.Command{}, errors.New("too late")
			}
			return log.Update("x"), nil
		}, `plugin "late" in phase step_end: too late`},
		{"an update that cannot be applied", func(_ context.Context, c plugin.Context) (state.Command, error) {
			if log.Has(c.Snapshot) {
				return state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "log", Update: json.RawMessage(`5`)}}}}, nil
			}
			return log.Update("x"), nil
		}, `plugin "late" in phase step_end: committing state: decoding the update of state key "log": json: cannot unmarshal number into Go value of type string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := built(t, on("first", core.PhaseStepEnd, write(log, "a")), on("late", core.PhaseStepEnd, test.hook))
			got, err := e.Phase(t.Context(), env.System(), at(core.PhaseStepEnd, state.Snapshot{}))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if got.Patch != nil || !got.Command.IsZero() {
				t.Errorf("something was committed: %v", got)
			}
		})
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	register := func(f func(r *plugin.Registrar)) plugin.Plugin {
		return part{"bad", func(r *plugin.Registrar) error { f(r); return nil }}
	}
	act := func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
		return state.Command{}, nil
	}
	send := func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil }
	tests := []struct {
		name    string
		plugins []plugin.Plugin
		filter  []string
		want    string
	}{
		{"no id", []plugin.Plugin{part{}}, nil, "plugin id is empty"},
		{"one id twice", []plugin.Plugin{part{id: "a"}, part{id: "a"}}, nil, `plugin "a" is given twice`},
		{"filter without plugin", []plugin.Plugin{part{id: "a"}}, []string{"b"}, `active hook filter names plugin "b", which the agent does not have`},
		{"filter without a name", []plugin.Plugin{part{id: "a"}}, []string{""}, `active hook filter names plugin "", which the agent does not have`},
		{"one key twice", []plugin.Plugin{keys, register(func(r *plugin.Registrar) { r.Key(log) })}, nil, `registering plugin "bad": state key "log" is already registered by plugin "keys"`},
		{"a key of the runtime", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Key(engine.FailedScheduledActions) })}, nil, `registering plugin "bad": state key "reveille.failed_actions": names that begin with "reveille." are the runtime's`},
		{"a key without Apply", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Key(state.Key[int, int]{Name: "x"}) })}, nil, `state key "x" has no Apply`},
		{"a nil hook", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Hook(core.PhaseStepEnd, nil) })}, nil, `registering plugin "bad": hook of phase "step_end" is nil`},
		{"no such phase", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Hook("later", write(log, "x")) })}, nil, `registering plugin "bad": hook of phase "later", which does not exist`},
		{"a nil hook of a phase", []plugin.Plugin{register(func(r *plugin.Registrar) { r.OnRunEnd(nil) })}, nil, `registering plugin "bad": hook of phase "run_end" is nil`},
		{"a key of the runtime's", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Key(state.Counter("reveille.mine", state.ScopeRun)) })}, nil, `registering plugin "bad": state key "reveille.mine": names that begin with "reveille." are the runtime's`},
		{"an action of the runtime's", []plugin.Plugin{register(func(r *plugin.Registrar) {
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "reveille.mine"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
				return state.Command{}, nil
			})
		})}, nil, `registering plugin "bad": action "reveille.mine": names that begin with "reveille." are the runtime's`},
		{"an effect of the runtime's", []plugin.Plugin{register(func(r *plugin.Registrar) {
			plugin.Effect[json.RawMessage]{Name: "reveille.mine"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil })
		})}, nil, `registering plugin "bad": effect "reveille.mine": names that begin with "reveille." are the runtime's`},
		{"a section without a name", []plugin.Plugin{register(func(r *plugin.Registrar) { _, _ = plugin.Section[int]{}.Read(r) })}, nil, `registering plugin "bad": section has no name`},
		{"a nil key", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Key(nil) })}, nil, `registering plugin "bad": state key is nil`},
		{"a nil transform", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Transform(nil) })}, nil, `registering plugin "bad": transform is nil`},
		{"a nil gate", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Gate(nil) })}, nil, `registering plugin "bad": gate is nil`},
		{"a nil tool", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Tool(nil) })}, nil, `registering plugin "bad": tool is nil`},
		{"an action twice", []plugin.Plugin{register(func(r *plugin.Registrar) {
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "a"}.Handle(r, act)
			plugin.Action[json.RawMessage]{Phase: core.PhaseRunEnd, Name: "a"}.Handle(r, act)
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "a"}.Handle(r, act)
		})}, nil, `registering plugin "bad": action "a" of phase "step_end" is already handled by plugin "bad"`},
		{"an action without key", []plugin.Plugin{register(func(r *plugin.Registrar) {
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: ""}.Handle(r, act)
		})}, nil, `registering plugin "bad": action "" of phase "step_end" has no key or no handler`},
		{"an action of no phase", []plugin.Plugin{register(func(r *plugin.Registrar) { plugin.Action[json.RawMessage]{Phase: "later", Name: "a"}.Handle(r, act) })}, nil, `registering plugin "bad": action "a" of phase "later", which does not exist`},
		{"a tool without a name", []plugin.Plugin{register(func(r *plugin.Registrar) { r.Tool(dig("")) })}, nil, `registering plugin "bad": tool name is empty`},
		{"one tool twice", []plugin.Plugin{part{"a", func(r *plugin.Registrar) error { r.Tool(dig("dig")); return nil }}, register(func(r *plugin.Registrar) { r.Tool(dig("dig")) })}, nil, `registering plugin "bad": tool "dig" is already registered by plugin "a"`},
		{"an effect twice", []plugin.Plugin{register(func(r *plugin.Registrar) {
			plugin.Effect[json.RawMessage]{Name: "e"}.Handle(r, send)
			plugin.Effect[json.RawMessage]{Name: "e"}.Handle(r, send)
		})}, nil, `registering plugin "bad": effect "e" is already handled by plugin "bad"`},
		{"an effect without key", []plugin.Plugin{register(func(r *plugin.Registrar) { plugin.Effect[json.RawMessage]{Name: ""}.Handle(r, send) })}, nil, `registering plugin "bad": effect "" has no key or no handler`},
		{"a panic", []plugin.Plugin{part{"bad", func(*plugin.Registrar) error { panic("oh") }}}, nil, `registering plugin "bad": panic: oh`},
		{"an error", []plugin.Plugin{part{"bad", func(*plugin.Registrar) error { return errors.New("no key file") }}}, nil, `registering plugin "bad": no key file`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := engine.New(test.plugins, engine.Options{Filter: test.filter})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

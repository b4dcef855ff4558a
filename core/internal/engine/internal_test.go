package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// The runtime's own keys end with their run, and updates of hooks that run side by side
// are all made; what holds for one step is in no record.
func TestTheRuntimesKeys(t *testing.T) {
	type key struct {
		Name                   string
		Scope                  state.Scope
		Commutative, Transient bool
	}
	of := func(d state.Definition) key { return key{d.Name(), d.Scope(), d.Commutative(), d.Transient()} }
	want := []key{
		{"reveille.failed_actions", state.ScopeRun, true, false},
		{"reveille.pending_actions", state.ScopeRun, true, false},
		{"reveille.context_messages", state.ScopeRun, true, false},
		{"reveille.step_messages", state.ScopeRun, true, true},
		{"reveille.context_throttle", state.ScopeRun, true, false},
		{"reveille.inference_override", state.ScopeRun, true, true},
		{"reveille.excluded_tools", state.ScopeRun, true, true},
		{"reveille.included_tools", state.ScopeRun, true, true},
	}
	var got []key
	for _, k := range []interface{ Definition() state.Definition }{FailedScheduledActions, pendingActions, pinnedMessages, stepMessages, throttle, override, excludedTools, includedTools} {
		got = append(got, of(k.Definition()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func act(phase core.Phase, key, payload string) state.Action {
	return state.Action{Phase: phase, Key: key, Payload: json.RawMessage(payload)}
}

// What an update takes off the queue: the action with its id, if it is what was taken; else
// the newest that is the same.
func TestWhatIsTakenOffTheQueue(t *testing.T) {
	a, b := act("p", "a", "1"), act("p", "b", "1")
	queue := pending{Last: 9, Queue: []pendingAction{{3, a}, {5, b}, {7, a}, {9, b}}}
	for name, test := range map[string]struct {
		remove uint64
		of     *state.Action
		want   int
	}{
		"nothing":                     {0, nil, -1},
		"by its id":                   {5, nil, 1},
		"by an id that is gone":       {4, nil, -1},
		"by its id, as it was":        {3, &a, 0},
		"the last by its id":          {9, &b, 3},
		"another has the id":          {5, &a, 2},
		"the id is gone":              {4, &b, 3},
		"another phase's":             {5, new(act("q", "b", "1")), -1},
		"another's of its phase":      {5, new(act("p", "c", "1")), -1},
		"the same with other payload": {5, new(act("p", "b", "2")), -1},
	} {
		if got := queue.find(pendingUpdate{Remove: test.remove, Removed: test.of}); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
		left := pending{Last: 9, Queue: append([]pendingAction{}, queue.Queue...)}.apply(pendingUpdate{Remove: test.remove, Removed: test.of, Add: []state.Action{a}})
		if n := len(left.Queue); n != 5-min(1, test.want+1) || left.Last != 10 || left.Queue[n-1].ID != 10 {
			t.Errorf("%s: then it is %+v", name, left)
		}
	}
	if empty := (pending{}).find(pendingUpdate{Remove: 1}); empty >= 0 {
		t.Errorf("of an empty queue %d is taken", empty)
	}
}

func updating(t *testing.T, key string, u any) state.Mutation {
	t.Helper()
	text, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	return state.Mutation{Key: key, Update: text}
}

// A command has taken what waited if it removes an action of the queue with an id up to the
// last one that waited.
func TestWhetherACommandTookWhatWaited(t *testing.T) {
	name := pendingActions.Name
	for what, test := range map[string]struct {
		m    state.Mutation
		want bool
	}{
		"the last":               {updating(t, name, pendingUpdate{Remove: 4}), true},
		"one before":             {updating(t, name, pendingUpdate{Remove: 1}), true},
		"a later one":            {updating(t, name, pendingUpdate{Remove: 5}), false},
		"none":                   {updating(t, name, pendingUpdate{Add: []state.Action{act("p", "a", "1")}}), false},
		"of another key":         {updating(t, "other", pendingUpdate{Remove: 4}), false},
		"that cannot be decoded": {updating(t, name, map[string]any{"remove": 4, "add": "x"}), false},
	} {
		if got := (&Engine{}).Took(&state.Command{Batch: state.Batch{Mutations: []state.Mutation{test.m}}}, 4); got != test.want {
			t.Errorf("%s: %t", what, got)
		}
	}
	if (&Engine{}).Took(nil, 4) || (&Engine{}).Took(&state.Command{}, 4) {
		t.Error("nothing has taken something")
	}
}

// The command that takes an action off the queue says what it was, so that another's merge
// finds it; one that never waited leaves the queue alone.
func TestWhatARemovalSays(t *testing.T) {
	a := act("p", "a", "1")
	if c := removal(pendingAction{Action: a}); len(c.Batch.Mutations) != 0 {
		t.Errorf("of one that never waited: %+v", c)
	}
	var u pendingUpdate
	c := removal(pendingAction{ID: 4, Action: a})
	if len(c.Batch.Mutations) != 1 || json.Unmarshal(c.Batch.Mutations[0].Update, &u) != nil {
		t.Fatalf("%+v", c)
	}
	if diff := cmp.Diff(pendingUpdate{Remove: 4, Removed: &a}, u); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type named string

func (n named) ID() string {
	if n == "panics" {
		panic("boom")
	}
	return string(n)
}

func (named) Register(*plugin.Registrar) error { return nil }

func TestTheIdOfAPlugin(t *testing.T) {
	for _, test := range []struct {
		p    plugin.Plugin
		id   string
		text string
	}{
		{named("a"), "a", ""},
		{nil, "", "plugin is nil"},
		{named("panics"), "", "id of a plugin of type engine.named: panic: boom"},
		{named("a#b"), "a#b", `plugin id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
	} {
		id, err := IDOf(test.p)
		if id != test.id || (err == nil) != (test.text == "") || err != nil && err.Error() != test.text {
			t.Errorf("%v: %q, %v", test.p, id, err)
		}
	}
}

// registering is a plugin that registers what a test says.
type registering struct {
	id string
	do func(*plugin.Registrar)
}

func (r registering) ID() string { return r.id }

func (r registering) Register(to *plugin.Registrar) error {
	r.do(to)
	return nil
}

// A watcher is told of what failed too, and of each gate and transform by its number.
func TestAWatcherIsToldOfFailures(t *testing.T) {
	no := errors.New("no")
	var seen []Seen
	one := registering{"one", func(r *plugin.Registrar) {
		r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return state.Command{}, no })
		r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return plugin.Verdict{}, nil })
		r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Verdict{Command: state.Command{Effects: []state.Effect{{Key: "e"}}}}, no
		})
		r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { return nil })
		r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { return no })
		plugin.Effect[json.RawMessage]{Name: "e"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil })
		plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "a"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
			return state.Command{}, no
		})
		r.Tool(tool.New(tool.Spec{Name: "t"}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }))
	}}
	watcher := Watcher{Saw: func(s Seen) { seen = append(seen, s) }, Tool: func(t tool.Tool) tool.Tool {
		if t == nil {
			panic("the watcher is given no tool")
		}
		return t
	}}
	e, err := New([]plugin.Plugin{Watched(one, watcher)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := Moment{Context: plugin.Context{Phase: core.PhaseStepEnd}, Turn: &core.Message{}, Call: &core.ToolCall{}}
	if _, err := e.hooks[core.PhaseStepEnd][0].run(t.Context(), &m); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := e.Gate(t.Context(), m); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := e.Transform(t.Context(), m, &model.Request{}); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := e.actions[duty{core.PhaseStepEnd, "a"}].run(t.Context(), plugin.HandlerContext{}, nil); !errors.Is(err, no) {
		t.Error(err)
	}
	want := []struct {
		place   Place
		number  int
		err     error
		effects int
	}{{PlaceHook, 1, no, 0}, {PlaceGate, 1, nil, 0}, {PlaceGate, 2, no, 1}, {PlaceTransform, 1, nil, 0}, {PlaceTransform, 2, no, 0}, {PlaceAction, 0, no, 0}}
	if len(seen) != len(want) {
		t.Fatalf("%d were seen: %+v", len(seen), seen)
	}
	for i, w := range want {
		if s := seen[i]; s.Place != w.place || s.Number != w.number || !errors.Is(s.Err, w.err) || len(s.Command.Effects) != w.effects {
			t.Errorf("%d: %s %d, %v, %d effects", i, s.Place, s.Number, s.Err, len(s.Command.Effects))
		}
	}
	nothing := registering{"nothing", func(r *plugin.Registrar) { r.Tool(nil) }}
	if _, err := New([]plugin.Plugin{Watched(nothing, watcher)}, Options{}); fmt.Sprint(err) != `registering plugin "nothing": tool is nil` {
		t.Errorf("a tool that is nil: %v", err)
	}
}

// What a plugin may not register under a name of the runtime's own changes nothing.
func TestTheRuntimesNamesAreReserved(t *testing.T) {
	key := state.Key[int, int]{Name: "reveille.mine", Scope: state.ScopeRun, Apply: func(int, int) int { return 0 }}
	for name, do := range map[string]func(*plugin.Registrar){
		"key": func(r *plugin.Registrar) { r.Key(key) },
		"action": func(r *plugin.Registrar) {
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "reveille.mine"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
				return state.Command{}, nil
			})
		},
		"effect": func(r *plugin.Registrar) {
			plugin.Effect[json.RawMessage]{Name: "reveille.mine"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil })
		},
	} {
		e := empty(plugin.Agent{})
		err := e.register(registering{"p", do}, &collector{engine: e, plugin: "p", active: true}, Options{})
		if err == nil || len(e.keys)+len(e.definitions)+len(e.actions)+len(e.effects)+len(e.actionPhases) != 0 {
			t.Errorf("%s: %v, and the engine has %v %v %v", name, err, e.keys, e.actions, e.effects)
		}
	}
	e, err := New(nil, Options{})
	if err != nil || e.keys["reveille.pending_actions"] != "runtime" || len(e.actions) == 0 {
		t.Errorf("the runtime's own are %v, %d actions, %v", e.keys, len(e.actions), err)
	}
}

// A pattern that panics is an error, and is not passed on as one that matches nothing.
func TestAToolPatternThatPanics(t *testing.T) {
	one := registering{"one", func(r *plugin.Registrar) { r.ToolPattern("sections.x", "a*", func(string) bool { panic("boom") }) }}
	e, err := New([]plugin.Plugin{one}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Equip([]model.ToolDefinition{{Name: "a"}}, func(path, _ string) error {
		t.Errorf("%s is passed on", path)
		return nil
	})
	if err == nil {
		t.Error("no error")
	}
}

// What waits for a phase: nothing where nobody handles one there, or the queue is empty or
// cannot be read.
func TestWhatWaitsForAPhase(t *testing.T) {
	handles := registering{"handles", func(r *plugin.Registrar) {
		plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: "a"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error) {
			return state.Command{}, nil
		})
	}}
	e, err := New([]plugin.Plugin{handles}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := state.KeyPath{Scope: state.ScopeRun, Name: pendingActions.Name}
	for name, test := range map[string]struct {
		queue string
		phase core.Phase
		want  uint64
	}{
		"one":              {`{"last":7,"queue":[{"id":4,"action":{"phase":"step_end","key":"a"}}]}`, core.PhaseStepEnd, 7},
		"for another":      {`{"last":7,"queue":[{"id":4,"action":{"phase":"run_end","key":"a"}}]}`, core.PhaseStepEnd, 0},
		"nobody handles":   {`{"last":7,"queue":[{"id":4,"action":{"phase":"run_end","key":"a"}}]}`, core.PhaseRunEnd, 0},
		"an empty queue":   {`{"last":7}`, core.PhaseStepEnd, 0},
		"it is unreadable": {`{"last":7,"queue":[{"id":4,"action":{"phase":"step_end","key":"a"}},7]}`, core.PhaseStepEnd, 0},
		"nothing":          {"", core.PhaseStepEnd, 0},
	} {
		values := map[state.KeyPath]json.RawMessage{}
		if test.queue != "" {
			values[at] = json.RawMessage(test.queue)
		}
		m := Moment{Context: plugin.Context{Snapshot: state.Snapshot{}.With(1, values)}}
		e.bind(&m)
		if got := e.Waiting(m.Snapshot, test.phase); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

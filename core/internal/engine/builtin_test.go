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
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// asks is a plugin whose hook before the inference returns a command of the step.
type asks func(step int) state.Command

func (asks) ID() string { return "asks" }

func (a asks) Register(r *plugin.Registrar) error {
	r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) { return a(c.Step), nil })
	return nil
}

// adjusted runs the phase before the inference for some steps of a run, each on what
// a log would keep of the one before it, and returns what each one's request is to
// have.
func adjusted(t *testing.T, steps int, a asks) (all []string, kept state.Snapshot) {
	t.Helper()
	e, err := engine.New([]plugin.Plugin{a}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fold := state.Snapshot{}.Fold()
	for step := 1; step <= steps; step++ {
		fold.BeginStep()
		result, err := e.Phase(t.Context(), env.System(), engine.Moment{Context: plugin.Context{
			Phase: core.PhaseBeforeInference, Step: step, Snapshot: fold.Snapshot(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		adjustments, err := e.Adjustments(result.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, m := range adjustments.Messages {
			shown = append(shown, fmt.Sprintf("%s:%s", m.Key, m.Text))
		}
		all = append(all, strings.Join(shown, " "))
		if err := fold.Apply(result.Patch, result.Snapshot.Revision()); err != nil {
			t.Fatal(err)
		}
	}
	return all, fold.Snapshot()
}

func TestContextMessages(t *testing.T) {
	add := plugin.AddContextMessage.Schedule
	type message = plugin.ContextMessage
	tests := []struct {
		name string
		asks asks
		want []string // of steps 1 to 5
	}{
		{"one step's", func(step int) state.Command {
			if step != 2 {
				return state.Command{}
			}
			return add(message{Key: "k", Text: "now"})
		}, []string{"", "k:now", "", "", ""}},
		{"a persistent one, replaced and taken away", func(step int) state.Command {
			switch step {
			case 1:
				return add(message{Key: "k", Text: "a", Persistent: true})
			case 3:
				return add(message{Key: "k", Text: "b", Persistent: true})
			case 5:
				return add(message{Key: "k"})
			}
			return state.Command{}
		}, []string{"k:a", "k:a", "k:b", "k:b", ""}},
		{"one step's, taken away in the step", func(int) state.Command {
			return state.Combine(add(message{Key: "k", Text: "now"}), add(message{Key: "l", Text: "too"}), add(message{Key: "k"}))
		}, []string{"l:too", "l:too", "l:too", "l:too", "l:too"}},
		{"the run's behind a step's", func(step int) state.Command {
			if step > 1 {
				return state.Command{}
			}
			return state.Combine(add(message{Key: "k", Text: "now"}), add(message{Key: "k", Text: "always", Persistent: true}))
		}, []string{"k:always", "k:always", "k:always", "k:always", "k:always"}},
		{"of each role", func(step int) state.Command {
			return state.Combine(add(message{Key: "a", Text: "1", Role: core.RoleSystem}), add(message{Key: "b", Text: "2", Role: core.RoleUser}))
		}, []string{"a:1 b:2", "a:1 b:2", "a:1 b:2", "a:1 b:2", "a:1 b:2"}},
		{"a step's takes the place of the run's", func(step int) state.Command {
			if step == 2 {
				return add(message{Key: "k", Text: "now"})
			}
			return add(message{Key: "k", Text: "always", Persistent: true})
		}, []string{"k:always", "k:now", "k:always", "k:always", "k:always"}},
		{"throttled: every third step", func(int) state.Command {
			return add(message{Key: "k", Text: "again", CooldownTurns: 3})
		}, []string{"k:again", "", "", "k:again", ""}},
		{"throttled, but its text changes", func(step int) state.Command {
			return add(message{Key: "k", Text: fmt.Sprint(step / 2), CooldownTurns: 10})
		}, []string{"k:0", "k:1", "", "k:2", ""}},
		{"by target, priority and key", func(step int) state.Command {
			if step > 1 {
				return state.Command{}
			}
			return state.Combine(
				add(message{Key: "e", Text: "5", Target: plugin.TargetSuffix}), add(message{Key: "d", Text: "4", Target: plugin.TargetConversation}),
				add(message{Key: "c", Text: "3", Target: plugin.TargetSession, Priority: -9}), add(message{Key: "b", Text: "2"}),
				add(message{Key: "a", Text: "1", Target: plugin.TargetSystem}), add(message{Key: "z", Text: "0", Priority: -1}),
			)
		}, []string{"z:0 a:1 b:2 c:3 d:4 e:5", "", "", "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := adjusted(t, 5, tt.asks)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessagesOfOneStepLeaveNothingBehind(t *testing.T) {
	_, kept := adjusted(t, 3, func(int) state.Command {
		return state.Combine(
			plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "now"}), plugin.ExcludeTool.Schedule("rm"),
			plugin.IncludeOnlyTools.Schedule([]string{"ls"}), plugin.SetInferenceOverride.Schedule(model.Override{MaxTokens: 5}),
		)
	})
	if paths := kept.Paths(); len(paths) != 0 || kept.Revision() != 0 {
		t.Errorf("the log keeps %v at revision %d, want nothing", paths, kept.Revision())
	}
}

func TestBadContextMessagesAreFailedActions(t *testing.T) {
	tests := []struct {
		name    string
		message plugin.ContextMessage
		want    string
	}{
		{"no key", plugin.ContextMessage{Text: "x"}, `the context message has no key`},
		{"a target that does not exist", plugin.ContextMessage{Key: "k", Target: "footer"}, `context message "k" has the target "footer", allowed are ["system" "session" "conversation" "suffix_system"]`},
		{"a role that context has not", plugin.ContextMessage{Key: "k", Role: core.RoleTool}, `context message "k" has the role "tool", allowed are "system" and "user"`},
		{"a negative cooldown", plugin.ContextMessage{Key: "k", CooldownTurns: -1}, `context message "k" has a cooldown of -1 steps, want 0 or more`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, kept := adjusted(t, 1, func(int) state.Command { return plugin.AddContextMessage.Schedule(tt.message) })
			failed, err := engine.FailedScheduledActions.Read(kept)
			if err != nil || len(failed) != 1 {
				t.Fatalf("%v, %v; want one failed action", failed, err)
			}
			if diff := cmp.Diff(tt.want, failed[0].Error); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The fingerprint of a throttled text stands in the log, and in JSON, whose numbers
// many readers keep to 53 bits.
func TestTheThrottleKeepsWhenAndWhatWasShown(t *testing.T) {
	_, kept := adjusted(t, 1, func(int) state.Command {
		return plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "again", CooldownTurns: 3})
	})
	if diff := cmp.Diff(map[string]string{"/run/reveille.context_throttle": `{"k":{"hash":6174306517508182,"step":1}}`}, values(kept)); diff != "" {
		t.Error(diff)
	}
}

func TestAThrottleThatCannotBeReadIsTheActionsFailure(t *testing.T) {
	e := built(t, asks(func(int) state.Command {
		return plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "x", CooldownTurns: 3})
	}))
	damaged := state.Snapshot{}.With(1, map[state.KeyPath]json.RawMessage{{Name: "reveille.context_throttle"}: json.RawMessage(`5`)})
	got := run(t, e, at(core.PhaseBeforeInference, damaged))
	failed, err := engine.FailedScheduledActions.Read(got.Snapshot)
	want := `decoding the value of state key "reveille.context_throttle": json: cannot unmarshal number into Go value of type map[string]engine.lastShown`
	if err != nil || len(failed) != 1 || failed[0].Error != want {
		t.Errorf("failed actions: %+v, %v; want one: %s", failed, err, want)
	}
}

func TestAdjustmentsThatCannotBeReadNameTheirKey(t *testing.T) {
	for _, key := range []string{"inference_override", "excluded_tools", "included_tools", "context_messages", "step_messages"} {
		t.Run(key, func(t *testing.T) {
			e := built(t)
			damaged, _, err := e.Registry().Commit(state.Snapshot{}, state.Batch{Mutations: []state.Mutation{{Key: "reveille." + key, Value: json.RawMessage(`5`)}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Adjustments(damaged)
			if want := `decoding the value of state key "reveille.` + key + `": `; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want an error that begins with %s", err, want)
			}
		})
	}
}

func TestToolFilterUnitesWhatIsIncludedAndTakesAwayWhatIsExcluded(t *testing.T) {
	include, exclude := plugin.IncludeOnlyTools.Schedule, plugin.ExcludeTool.Schedule
	tests := []struct {
		name    string
		command state.Command
		want    string // of the tools a, b and c
	}{
		{"nothing asked", state.Command{}, "a b c"},
		{"one excluded", exclude("b"), "a c"},
		{"two excluded", state.Combine(exclude("b"), exclude("a")), "c"},
		{"one included", include([]string{"b"}), "b"},
		{"two that include", state.Combine(include([]string{"b"}), include([]string{"c"})), "b c"},
		{"none included", include([]string{}), ""},
		{"excluded wins", state.Combine(include([]string{"b", "c"}), exclude("b")), "c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.New([]plugin.Plugin{asks(func(int) state.Command { return tt.command })}, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := e.Phase(t.Context(), env.System(), engine.Moment{Context: plugin.Context{Phase: core.PhaseBeforeInference, Step: 1}})
			if err != nil {
				t.Fatal(err)
			}
			a, err := e.Adjustments(result.Snapshot)
			if err != nil {
				t.Fatal(err)
			}
			var offered []string
			for _, name := range []string{"a", "b", "c"} {
				if a.Offers(name) {
					offered = append(offered, name)
				}
			}
			if got := strings.Join(offered, " "); got != tt.want {
				t.Errorf("offers %q, want %q", got, tt.want)
			}
			if a.Filters() == (tt.want == "a b c") {
				t.Errorf("Filters is %v", a.Filters())
			}
		})
	}
}

func TestTheLaterOverrideCountsFieldByField(t *testing.T) {
	set := plugin.SetInferenceOverride.Schedule
	e, err := engine.New([]plugin.Plugin{asks(func(int) state.Command {
		return state.Combine(set(model.Override{MaxTokens: 5, UpstreamModel: "small"}), set(model.Override{MaxTokens: 7, TopP: new(0.5)}), set(model.Override{MaxTokens: -1}))
	})}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Phase(t.Context(), env.System(), engine.Moment{Context: plugin.Context{Phase: core.PhaseBeforeInference, Step: 1}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Adjustments(result.Snapshot)
	if diff := cmp.Diff(model.Override{UpstreamModel: "small", MaxTokens: 7, TopP: new(0.5)}, a.Override); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	failed, _ := engine.FailedScheduledActions.Read(result.Snapshot)
	if len(failed) != 1 || failed[0].Error != "max_tokens is -1, want 0 (as the agent has it) or more" {
		t.Errorf("failed actions: %+v, want the negative limit", failed)
	}
}

func TestATransformSeesItsAgentAndItsKeys(t *testing.T) {
	var id string
	var unknown error
	looks := part{"looks", func(r *plugin.Registrar) error {
		r.Transform(func(_ context.Context, c plugin.BeforeInference, _ *model.Request) error {
			id = c.Agent.ID
			_, unknown = log.Read(c.Snapshot)
			return nil
		})
		return nil
	}}
	e, err := engine.New([]plugin.Plugin{looks}, engine.Options{Agent: demo})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Transforms() || built(t).Transforms() {
		t.Error("Transforms says that there are none, or that an engine without any has some")
	}
	if err := e.Transform(t.Context(), everything(core.PhaseBeforeInference), &model.Request{}); err != nil {
		t.Fatal(err)
	}
	if id != demo.ID || !errors.Is(unknown, stateerror.ErrUnknownKey) {
		t.Errorf("it sees agent %q, and reads a key of nobody with %v", id, unknown)
	}
}

func TestTransformsRunInOrderAndNameTheirPlugin(t *testing.T) {
	adds := func(id, text string, err error) plugin.Plugin {
		return part{id, func(r *plugin.Registrar) error {
			r.Transform(func(_ context.Context, c plugin.BeforeInference, request *model.Request) error {
				request.System += text
				return err
			})
			return nil
		}}
	}
	run := func(plugins ...plugin.Plugin) (string, error) {
		e, err := engine.New(plugins, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		request := model.Request{System: "0"}
		err = e.Transform(t.Context(), engine.Moment{}, &request)
		return request.System, err
	}
	if got, err := run(adds("a", "1", nil), adds("b", "2", nil)); got != "012" || err != nil {
		t.Errorf("%q, %v; want 012", got, err)
	}
	if _, err := run(adds("a", "1", nil), adds("b", "2", errors.New("no"))); fmt.Sprint(err) != `transform of plugin "b": no` {
		t.Errorf("%v", err)
	}
	panics := part{"p", func(r *plugin.Registrar) error {
		r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { panic("boom") })
		return nil
	}}
	if _, err := run(panics); fmt.Sprint(err) != `transform of plugin "p": panic: boom` {
		t.Errorf("%v", err)
	}
}

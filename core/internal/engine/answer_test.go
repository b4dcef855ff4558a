package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// A gate is told the decision about its own suspension, and of no other.
func TestAGateSeesTheAnswerToItsOwnSuspension(t *testing.T) {
	const own, others = "00000000-0000-0000-0000-000000000001.3.1.asker", "00000000-0000-0000-0000-000000000001.3.1.other"
	for _, tt := range []struct {
		name    string
		granted []string
		answers []core.Resume
		resume  *core.Resume
		want    *core.Decision
	}{
		{"nothing decided", nil, nil, nil, nil},
		{"decided now", []string{own}, nil, &core.Resume{Suspension: own, Decision: core.Decision{ID: "d", Payload: []byte(`1`)}}, &core.Decision{ID: "d", Payload: []byte(`1`)}},
		{"another was", []string{others}, []core.Resume{{Suspension: others, Decision: core.Decision{Remember: core.RememberRun}}}, &core.Resume{Suspension: others, Decision: core.Decision{ID: "d"}}, nil},
		{"decided before, to be remembered", []string{own, others}, []core.Resume{{Suspension: own, Decision: core.Decision{Remember: core.RememberRun}}}, &core.Resume{Suspension: others, Decision: core.Decision{ID: "d"}}, &core.Decision{Remember: core.RememberRun}},
		{"decided before", []string{own, others}, nil, &core.Resume{Suspension: others, Decision: core.Decision{ID: "d"}}, &core.Decision{Action: core.DecisionResume}},
		{"decided before, and nothing now", []string{own}, nil, nil, &core.Decision{Action: core.DecisionResume}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *core.Decision
			e := built(t, part{"asker", func(r *plugin.Registrar) error {
				r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
					got = c.Answer
					return plugin.Allow, nil
				})
				return nil
			}})
			m := call("", state.Snapshot{}, 1, "c1")
			m.Run, m.Step, m.Granted, m.Answers, m.Resume = core.ID{15: 1}, 3, tt.granted, tt.answers, tt.resume
			if _, err := e.Gate(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// A refusal is told to the plugin whose gate had asked; what its hook returns is checked
// like a gate's.
func TestARefusalReachesWhoAsked(t *testing.T) {
	const asker = "00000000-0000-0000-0000-000000000001.3.1.asker"
	strange := state.Value[int]("strange", state.ScopeRun)
	command, failure := tally.Update("refused"), error(nil)
	hook := func(id string) plugin.Plugin {
		return part{id, func(r *plugin.Registrar) error {
			r.OnRefusal(func(_ context.Context, c plugin.GateCall) (state.Command, error) {
				if _, err := strange.Read(c.Snapshot); !errors.Is(err, stateerror.ErrUnknownKey) || c.Agent == nil {
					t.Errorf("a key that nobody has registered reads with %v, and the agent is %v", err, c.Agent)
				}
				if id != "asker" || c.Call.ID != "c1" || c.CallIndex != 1 || c.Answer == nil || c.Answer.ID != "d" {
					t.Errorf("%s is asked about call %d, %s, with the answer %+v", id, c.CallIndex, c.Call.ID, c.Answer)
				}
				return command, failure
			})
			return nil
		}}
	}
	e := built(t, hook("other"), hook("asker"))
	refused := func(suspension string) (state.Command, error) {
		m := call("", state.Snapshot{}, 1, "c1")
		m.Run, m.Step, m.Resume = core.ID{15: 1}, 3, &core.Resume{Suspension: suspension, Decision: core.Decision{ID: "d"}}
		return e.Refused(t.Context(), m)
	}
	got, err := refused(asker)
	if diff := cmp.Diff(tally.Update("refused"), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := refused("the-tool"); !got.IsZero() || err != nil {
		t.Errorf("another suspension: %+v, %v", got, err)
	}
	command = state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "nobody's"}}}}
	if _, err := refused(asker); err == nil || err.Error() != `refusal of plugin "asker": unknown state key "nobody's"` {
		t.Errorf("unknown key: %v", err)
	}
	command = state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "tally", Update: json.RawMessage("7")}}}}
	if c, err := refused(asker); !c.IsZero() || err == nil || err.Error() != `refusal of plugin "asker": committing state: decoding the update of state key "tally": json: cannot unmarshal number into Go value of type string` {
		t.Errorf("an update that does not fit: %+v, %v", c, err)
	}
	failure = errors.New("no")
	if _, err := refused(asker); err == nil || err.Error() != `refusal of plugin "asker": no` {
		t.Errorf("error: %v", err)
	}
}

func TestAPluginHasOneHookOfRefusals(t *testing.T) {
	none := func(context.Context, plugin.GateCall) (state.Command, error) { return state.Command{}, nil }
	for want, register := range map[string]func(r *plugin.Registrar){
		`registering plugin "p": hook of refusals is nil`:           func(r *plugin.Registrar) { r.OnRefusal(nil) },
		`registering plugin "p": there are two hooks of refusals`:   func(r *plugin.Registrar) { r.OnRefusal(none); r.OnRefusal(none) },
		`registering plugin "p": tool pattern at x has no function`: func(r *plugin.Registrar) { r.ToolPattern("x", "*", nil) },
	} {
		_, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error { register(r); return nil }}}, engine.Options{})
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	e, err := engine.New([]plugin.Plugin{part{"p", func(r *plugin.Registrar) error { r.OnRefusal(none); return nil }}, part{"q", func(*plugin.Registrar) error { return nil }}}, engine.Options{Filter: []string{"q"}})
	if err != nil {
		t.Fatal(err)
	}
	m := call("", state.Snapshot{}, 0, "c1")
	m.Resume = &core.Resume{Suspension: "00000000-0000-0000-0000-000000000000.0.0.p"}
	if c, err := e.Refused(t.Context(), m); !c.IsZero() || err != nil {
		t.Errorf("filtered out: %+v, %v", c, err)
	}
}

func TestPluginsAreToldOfTheirAgentsTools(t *testing.T) {
	tools := []model.ToolDefinition{{Name: "a", Description: "A"}, {Name: "b"}}
	var found []string
	e := built(t, part{"p", func(r *plugin.Registrar) error {
		r.ToolPattern("sections.p.one", "x*", func(name string) bool { return name == "x" })
		r.ToolPattern("sections.p.two", "b", func(name string) bool { return name == "b" })
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			for _, name := range []string{"a", "b", "c", ""} {
				d, ok := c.Agent.Tool(name)
				found = append(found, fmt.Sprint(d.Name, d.Description, ok))
			}
			return plugin.Allow, nil
		})
		return nil
	}})
	var unmatched []string
	note := func(path, text string) error {
		unmatched = append(unmatched, path+" "+text)
		return nil
	}
	if err := e.Equip(tools, note); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sections.p.one x*"}, unmatched); diff != "" {
		t.Errorf("unmatched (-want +got):\n%s", diff)
	}
	if _, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aAtrue", "btrue", "false", "false"}, found); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if err := e.Equip(tools, func(string, string) error { return errors.New("no") }); err == nil {
		t.Error("the error of unmatched is lost")
	}
}

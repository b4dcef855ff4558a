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
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

func gates(verdicts ...plugin.Verdict) []plugin.Plugin {
	var plugins []plugin.Plugin
	for i, v := range verdicts {
		plugins = append(plugins, part{fmt.Sprintf("gate%d", i), func(r *plugin.Registrar) error {
			r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return v, nil })
			return nil
		}})
	}
	return plugins
}

func TestGateReturnsTheHighestVerdictAndTheFirstOfEquals(t *testing.T) {
	result := func(text string) plugin.Verdict {
		return plugin.SetResult(core.ToolResult{Data: json.RawMessage(text)})
	}
	set := func(text string) plugin.Verdict {
		return plugin.Verdict{Result: &core.ToolResult{CallID: "c1", Name: "pay", Data: json.RawMessage(text)}}
	}
	tests := []struct {
		name     string
		verdicts []plugin.Verdict
		want     plugin.Verdict
	}{
		{"no gate", nil, plugin.Allow},
		{"allowed by all", []plugin.Verdict{{}, {}}, plugin.Allow},
		{"a result", []plugin.Verdict{{}, result("1"), {}}, set("1")},
		{"the first result", []plugin.Verdict{result("1"), result("2")}, set("1")},
		{"block over result", []plugin.Verdict{result("1"), plugin.Block("no")}, plugin.Block("no")},
		{"the first block", []plugin.Verdict{plugin.Block("first"), result("1"), plugin.Block("second")}, plugin.Block("first")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := built(t, gates(test.verdicts...)...).Gate(t.Context(), engine.Moment{Turn: &core.Message{}, Call: &core.ToolCall{ID: "c1", Name: "pay"}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGateErrorsNameThePlugin(t *testing.T) {
	tests := []struct {
		name string
		gate func(context.Context, plugin.GateCall) (plugin.Verdict, error)
		want string
	}{
		{"an error", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Verdict{}, errors.New("no rules")
		}, `gate of plugin "bad": no rules`},
		{"a panic", func(context.Context, plugin.GateCall) (plugin.Verdict, error) { panic("oh") }, `gate of plugin "bad": panic: oh`},
		{"a command that could not be made", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Allow.With(state.Command{Err: errors.New("no number")}), nil
		}, `gate of plugin "bad": no number`},
		{"an error beside a command", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Allow.With(tally.Update("a")), errors.New("no rules")
		}, `gate of plugin "bad": no rules`},
		{"a suspension whose id is none", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Suspend(core.TicketRequest{ID: "a b"}), nil
		}, `gate of plugin "bad": suspension id "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
		{"a result and a block", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Verdict{Block: true, Result: &core.ToolResult{}}, nil
		}, `gate of plugin "bad": the verdict has more than one of Block, Result and Suspend`},
		{"a result and a wait", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Verdict{Suspend: &core.TicketRequest{}, Result: &core.ToolResult{}}, nil
		}, `gate of plugin "bad": the verdict has more than one of Block, Result and Suspend`},
		{"a block and a wait", func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Verdict{Suspend: &core.TicketRequest{}, Block: true}, nil
		}, `gate of plugin "bad": the verdict has more than one of Block, Result and Suspend`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := built(t, part{"bad", func(r *plugin.Registrar) error { r.Gate(test.gate); return nil }})
			_, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1"))
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAGateSeesWhatTheGatesBeforeItHaveChanged(t *testing.T) {
	var seen []string
	looks := part{"looks", func(r *plugin.Registrar) error {
		r.Gate(func(_ context.Context, c plugin.GateCall) (_ plugin.Verdict, err error) {
			seen, err = tally.Read(c.Snapshot)
			return plugin.Allow, err
		})
		return nil
	}}
	e := built(t, append(gates(plugin.Allow.With(tally.Update("a")), plugin.Block("no").With(tally.Update("b"))), looks)...)
	if _, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestASuspensionIsGrantedByItsId(t *testing.T) {
	suspended := func(id string) plugin.Verdict {
		return plugin.Verdict{Suspend: &core.TicketRequest{ID: id, Message: "sure?"}}
	}
	const first, second = "00000000-0000-0000-0000-000000000001.3.1.gate0", "00000000-0000-0000-0000-000000000001.3.1.gate1"
	tests := []struct {
		name    string
		granted []string
		resume  *core.Resume
		want    plugin.Verdict
	}{
		{"nothing decided", nil, nil, suspended(first)},
		{"the first granted now", nil, &core.Resume{Suspension: first}, suspended(second)},
		{"the first granted earlier, the second now", []string{first}, &core.Resume{Suspension: second}, plugin.Allow},
		{"both granted earlier", []string{second, first}, nil, plugin.Allow},
		{"another granted", []string{"other"}, &core.Resume{Suspension: "another"}, suspended(first)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ask := plugin.Suspend(core.TicketRequest{Message: "sure?"})
			m := call("", state.Snapshot{}, 1, "c1")
			m.Run, m.Step, m.Granted, m.Resume = core.ID{15: 1}, 3, test.granted, test.resume
			got, err := built(t, gates(ask, ask)...).Gate(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if ask.Suspend.ID != "" {
				t.Error("the gate's own request got the id")
			}
		})
	}
}

// A gate may return one result for all its calls, and one request.
func TestWhatAGateReturnsStaysItsOwn(t *testing.T) {
	result := plugin.SetResult(core.ToolResult{Data: json.RawMessage(`1`)})
	e := built(t, gates(result)...)
	first, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.Gate(t.Context(), call("", state.Snapshot{}, 1, "c2"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Result.CallID != "c1" || second.Result.CallID != "c2" || result.Result.CallID != "" {
		t.Errorf("results of %q and %q, and %q is the gate's", first.Result.CallID, second.Result.CallID, result.Result.CallID)
	}
}

func TestAVerdictCarriesItsCommands(t *testing.T) {
	verdicts := []plugin.Verdict{
		plugin.Allow.With(tally.Update("a")).With(tally.Update("b")),
		plugin.Block("no").With(tally.Update("c")),
		plugin.Suspend(core.TicketRequest{}),
	}
	got, err := built(t, gates(verdicts...)...).Gate(t.Context(), call("", state.Snapshot{}, 0, "c1"))
	if err != nil {
		t.Fatal(err)
	}
	want := plugin.Block("no").With(state.Combine(tally.Update("a"), tally.Update("b"), tally.Update("c")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !plugin.Allow.Command.IsZero() {
		t.Error("With changed Allow itself")
	}
}

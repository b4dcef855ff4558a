package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

const approvalID = "00000000-0000-0000-0000-000000000001.3.1.reveille.approval"

// payment is the moment of a call of pay, whose spec has a person asked.
func payment(s state.Snapshot, arguments string) engine.Moment {
	m := call("", s, 1, "c1")
	m.Run, m.Step, m.Approval = core.ID{15: 1}, 3, "Pay the bill?"
	m.Call = &core.ToolCall{ID: "c1", Name: "pay", Arguments: json.RawMessage(arguments)}
	return m
}

// The question of a tool is asked before those of plugins, whatever allows the call or
// gives it a result; a block alone is above it. Each suspension is granted by itself.
func TestTheOrderOfAnApprovalAmongTheGates(t *testing.T) {
	asked := &core.TicketRequest{
		ID: approvalID, Message: "Pay the bill?", Action: "tool:PermissionConfirm",
		Parameters: json.RawMessage(`{"tool":"pay","arguments":{"amount":5}}`),
	}
	theirs := core.TicketRequest{ID: "theirs", Message: "Really?"}
	result := core.ToolResult{Data: json.RawMessage(`1`)}
	for _, tt := range []struct {
		name    string
		gates   []plugin.Verdict
		granted []string
		want    plugin.Verdict
	}{
		{"no plugin", nil, nil, plugin.Verdict{Suspend: asked}},
		{"a gate allows it", []plugin.Verdict{plugin.Allow}, nil, plugin.Verdict{Suspend: asked}},
		{"a gate gives a result", []plugin.Verdict{plugin.SetResult(result)}, nil, plugin.Verdict{Suspend: asked}},
		{"a gate asks, too", []plugin.Verdict{plugin.Suspend(theirs)}, nil, plugin.Verdict{Suspend: asked}},
		{"a gate blocks it", []plugin.Verdict{plugin.Suspend(theirs), plugin.Block("no")}, nil, plugin.Block("no")},
		{"approved", nil, []string{approvalID}, plugin.Allow},
		{"approved, and a gate asks", []plugin.Verdict{plugin.Suspend(theirs)}, []string{approvalID}, plugin.Suspend(theirs)},
		{"approved, and a gate blocks it", []plugin.Verdict{plugin.Block("no")}, []string{approvalID}, plugin.Block("no")},
		{"approved twice", []plugin.Verdict{plugin.Suspend(theirs)}, []string{approvalID, "theirs"}, plugin.Allow},
		{"another question granted", nil, []string{"theirs"}, plugin.Verdict{Suspend: asked}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := payment(state.Snapshot{}, `{"amount":5}`)
			m.Granted = tt.granted
			got, err := built(t, gates(tt.gates...)...).Gate(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAToolWithoutAnApprovalAsksNothing(t *testing.T) {
	m := payment(state.Snapshot{}, `{}`)
	m.Approval = ""
	if got, err := built(t).Gate(t.Context(), m); err != nil || outcome(got) != allows {
		t.Errorf("%+v, %v; want it allowed", got, err)
	}
}

// An answer is remembered for as long, and for as much, as it says.
func TestWhatIsRememberedOfAnApproval(t *testing.T) {
	once := core.Decision{Action: core.DecisionResume}
	run := core.Decision{Action: core.DecisionResume, Remember: core.RememberRun}
	thread := core.Decision{Action: core.DecisionResume, Remember: core.RememberThread, RememberAs: core.RememberCall}
	all := core.Decision{Action: core.DecisionResume, Remember: core.RememberThread, RememberAs: core.RememberRule}
	allInRun := core.Decision{Action: core.DecisionResume, Remember: core.RememberRun, RememberAs: core.RememberRule}
	no := func(d core.Decision) core.Decision { d.Action = core.DecisionCancel; return d }
	type answer struct {
		arguments string
		decision  core.Decision
	}
	const five, spelled, six, twofold = `{"amount":5,"to":"Bo"}`, `{ "to": "Bo", "amount": 5 }`, `{"amount":6,"to":"Bo"}`, `{"amount":5,"amount":6}`
	for _, tt := range []struct {
		name      string
		answers   []answer
		arguments string
		change    func(*engine.Moment)
		want      string
	}{
		{"approved once", []answer{{five, once}}, five, nil, asked},
		{"approved for the run", []answer{{five, run}}, five, nil, allows},
		{"the same arguments in another spelling", []answer{{five, run}}, spelled, nil, allows},
		{"other arguments", []answer{{five, run}}, six, nil, asked},
		{"arguments with two meanings", []answer{{twofold, run}}, twofold, nil, asked},
		{"approved for the thread", []answer{{five, thread}}, five, nil, allows},
		{"other arguments in the thread", []answer{{five, thread}}, six, nil, asked},
		{"approved for all calls", []answer{{five, all}}, six, nil, allows},
		{"approved for all calls of the run", []answer{{twofold, allInRun}}, twofold, nil, allows},
		{"another tool", []answer{{five, all}}, five, func(m *engine.Moment) { m.Call.Name = "refund" }, asked},
		{"another question", []answer{{five, all}}, five, func(m *engine.Moment) { m.Approval = "Pay it now?" }, asked},
		{"denied once", []answer{{five, no(once)}}, five, nil, asked},
		{"denied for the run", []answer{{five, no(run)}}, five, nil, denies},
		{"denied for all calls", []answer{{five, no(all)}}, six, nil, denies},
		{"denied, and others approved", []answer{{five, no(thread)}, {six, all}}, five, nil, denies},
		{"denied but for one", []answer{{five, run}, {six, no(all)}}, five, nil, allows},
		{"approved, then denied", []answer{{five, run}, {five, no(run)}}, five, nil, denies},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, s := built(t), state.Snapshot{}
			for _, a := range tt.answers {
				s = answered(t, e, s, a.arguments, a.decision)
			}
			m := payment(s, tt.arguments)
			if tt.change != nil {
				tt.change(&m)
			}
			verdict, err := e.Gate(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			got := outcome(verdict)
			if got != tt.want {
				t.Errorf("the gate %s it, want that it %s: %+v", got, tt.want, verdict)
			}
			if got == denies {
				want := &core.ToolResult{CallID: "c1", Name: "pay", Message: "denied: a person has denied such calls of pay", IsError: true, Status: core.ResultDenied}
				if diff := cmp.Diff(want, verdict.Result); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// What a gate does with a call.
const asked, allows, denies = "asks", "allows", "denies"

// outcome is what the gate of an approval does with a call.
func outcome(v plugin.Verdict) string {
	switch {
	case v.Block:
		return "blocks"
	case v.Suspend != nil:
		return asked
	case v.Result != nil:
		return denies
	}
	return allows
}

// answered is the state after a decision about a call of pay.
func answered(t *testing.T, e *engine.Engine, s state.Snapshot, arguments string, d core.Decision) state.Snapshot {
	t.Helper()
	m := payment(s, arguments)
	m.Resume = &core.Resume{Suspension: approvalID, Decision: d}
	var command state.Command
	if d.Action == core.DecisionResume {
		verdict, err := e.Gate(t.Context(), m)
		if err != nil || verdict.Suspend != nil {
			t.Fatalf("%+v, %v; want it granted", verdict, err)
		}
		command = verdict.Command
	} else if c, err := e.Refused(t.Context(), m); err != nil {
		t.Fatal(err)
	} else {
		command = c
	}
	after, err := e.Submit(s, m.CallIndex, command)
	if err != nil {
		t.Fatal(err)
	}
	return after.Snapshot
}

func TestForgottenApprovalsAreAskedAgain(t *testing.T) {
	e, s := built(t), state.Snapshot{}
	for _, remember := range []core.Remember{core.RememberRun, core.RememberThread} {
		s = answered(t, e, s, `{}`, core.Decision{Action: core.DecisionResume, Remember: remember})
	}
	after, err := e.Submit(s, 1, plugin.ForgetApprovals())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, snapshot := range []state.Snapshot{s, after.Snapshot} {
		verdict, err := e.Gate(t.Context(), payment(snapshot, `{}`))
		kinds = append(kinds, fmt.Sprint(outcome(verdict), " ", err))
	}
	if diff := cmp.Diff([]string{allows + " <nil>", asked + " <nil>"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPluginCannotHaveTheNameOfTheRuntimesGate(t *testing.T) {
	_, err := engine.New([]plugin.Plugin{part{id: "reveille.approval"}}, engine.Options{})
	if want := `plugin "reveille.approval": ids that begin with "reveille." are the runtime's`; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

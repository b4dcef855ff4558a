package demo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

func TestDangerCountsItsExecutionsByText(t *testing.T) {
	danger := named(t, "danger")
	if spec := danger.Spec(); spec.ReadOnly {
		t.Error("danger calls itself read-only")
	}
	for _, call := range []struct{ key, arguments, want string }{
		{"run/2/0", `{"text":"ship it"}`, `{"text":"ship it","executions":1}`},
		{"run/4/0", `{"text":"ship it"}`, `{"text":"ship it","executions":2}`},
		{"run/2/0", `{"text":"ship it"}`, `{"text":"ship it","executions":1}`}, // again, after a crash
		{"run/6/0", `{"text":"drop it"}`, `{"text":"drop it","executions":1}`},
	} {
		got, err := danger.Run(t.Context(), tool.Call{ID: "c", Name: "danger", Idempotency: call.key, Arguments: []byte(call.arguments)})
		if err != nil || string(got.Data) != call.want {
			t.Errorf("%s: %s, %v; want %s", call.arguments, got.Data, err, call.want)
		}
	}
}

func TestDangerWaitsForAPersonAndNothingElseDoes(t *testing.T) {
	parts, err := demo.Parts(map[string]agent.ModelBinding{demo.Model: {Model: scripted.Rules()}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reveille.New(parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]string{"echo": `{"text":"x"}`, "set_state": `{"set":{"a":1}}`, "ask_user": `{"question":"when?"}`} {
		got, err := r.Run(t.Context(), reveille.Input{Text: "call: " + name + " " + arguments})
		if err != nil {
			t.Fatal(err)
		}
		for _, ticket := range got.Tickets {
			if ticket.Suspension.Action != "tool:ask_user" {
				t.Errorf("%s waits for %+v", name, ticket.Suspension)
			}
		}
	}
	waits, err := r.Run(t.Context(), reveille.Input{Text: `call: danger {"text":"x"}`})
	if err != nil || len(waits.Tickets) != 1 {
		t.Fatalf("danger: %+v, %v; want one ticket", waits.Termination, err)
	}
	want := core.TicketRequest{
		ID: waits.Run.ID.String() + ".1.0.permission", Action: "tool:PermissionConfirm",
		Message: "May the agent use the tool danger?", Parameters: []byte(`{"tool":"danger","arguments":{"text":"x"}}`),
		Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}.Suspension("danger")
	if diff := cmp.Diff(want, waits.Tickets[0].Suspension); diff != "" {
		t.Fatalf("danger (-want +got):\n%s", diff)
	}
	if err := r.Decide(t.Context(), waits.Run.ID, reveille.Approve(waits.Tickets[0])); err != nil {
		t.Fatal(err)
	}
	if done, err := r.Wait(t.Context(), waits.Run.ID); err != nil || done.Termination.Type != core.TerminationNatural {
		t.Errorf("danger, granted: %+v, %v; want it done", done.Termination, err)
	}
}

func TestAskUserWaitsForTheClient(t *testing.T) {
	ask := named(t, "ask_user")
	got, err := ask.Run(t.Context(), tool.Call{ID: "c", Name: "ask_user", Arguments: []byte(`{"question":"when?"}`)})
	if err != nil || got.Suspend == nil {
		t.Fatalf("%+v, %v; want it suspended", got, err)
	}
	want := &core.TicketRequest{
		Action: "tool:ask_user", Parameters: []byte(`{"question":"when?"}`),
		Mode: core.ResumeAsResult, Kind: core.TicketClient,
	}
	if diff := cmp.Diff(want, got.Suspend); diff != "" {
		t.Errorf("suspension (-want +got):\n%s", diff)
	}
	if got := reveilletest.RunTool(t, ask, nil); !got.IsError {
		t.Errorf("without a question: %+v; want an error result", got)
	}
}

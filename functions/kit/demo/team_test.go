package demo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// team returns the demo agents on the scripted model.
func team(t *testing.T) *reveille.Runtime {
	t.Helper()
	parts, err := demo.Parts(reveille.Models{demo.Model: {Model: scripted.Rules()}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reveille.New(parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheCoordinatorLeavesWorkToTwoSpecialists(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(reveille.Ticket) reveille.Decision
		want string
	}{
		{"approved", reveille.Approve, "researcher: Echo: prices\nbuyer: Done: order"},
		{"denied", func(k reveille.Ticket) reveille.Decision { return reveille.Deny(k, "no") }, "researcher: Echo: prices\nbuyer: The call of danger was denied."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := team(t)
			waits, err := r.Run(t.Context(), reveille.Input{Agent: "coordinator", Text: "team: researcher echo: prices | buyer approve: order"})
			if err != nil || waits.Termination.Type != reveille.TerminationSuspended {
				t.Fatalf("%+v, %v; want it suspended", waits.Termination, err)
			}
			asked := 0
			for approval, err := range r.Approvals(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if asked++; approval.AgentID != "buyer" || approval.Ticket.Suspension.Action != "tool:PermissionConfirm" {
					t.Errorf("%s asks: %+v; want the buyer to ask for danger", approval.AgentID, approval.Ticket)
				}
				if err := r.Decide(t.Context(), approval.RunID, tt.act(approval.Ticket)); err != nil {
					t.Fatal(err)
				}
			}
			done, err := r.Wait(t.Context(), waits.Run.ID)
			if err != nil || asked != 1 || done.Text != tt.want {
				t.Errorf("%d approvals, then %q, %+v, %v; want 1 and %q", asked, done.Text, done.Termination, err, tt.want)
			}
		})
	}
}

func TestEachMemberOfTheTeamHasItsTools(t *testing.T) {
	for agent, want := range map[string]string{
		"coordinator": `The result of echo: tool "echo" not found`,
		"researcher":  `The result of danger: tool "danger" not found`,
		"buyer":       `The result of echo: tool "echo" not found`,
	} {
		text := map[string]string{"coordinator": "call: echo", "researcher": "call: danger", "buyer": "call: echo"}[agent]
		got, err := team(t).Run(t.Context(), reveille.Input{Agent: agent, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
	}
}

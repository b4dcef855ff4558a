package core_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestOnlyAPersonRefusesByAPayload(t *testing.T) {
	resume := func(payload string) core.Decision {
		return core.Decision{Action: core.DecisionResume, Payload: []byte(payload)}
	}
	tests := []struct {
		name    string
		kind    core.TicketKind
		said    core.Decision
		resumes bool
	}{
		{"a person says no", core.TicketPerson, resume(` {"approved":false,"by":"ann"}`), false},
		{"a person says no, of a ticket without a kind", "", resume(`{"approved":false}`), false},
		{"a person says yes", core.TicketPerson, resume(`{"approved":true}`), true},
		{"a person says neither", core.TicketPerson, resume(`{"approved":null}`), true},
		{"a person says something else", core.TicketPerson, resume(`"approved"`), true},
		{"a person says nothing", core.TicketPerson, resume(``), true},
		{"a client's output", core.TicketClient, resume(`{"approved":false}`), true},
		{"a child's", core.TicketChild, resume(`{"approved":false}`), true},
		{"a client cancels", core.TicketClient, core.Decision{Action: core.DecisionCancel}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ticket := core.Ticket{Kind: tt.kind}
			if got := ticket.Resumes(tt.said); got != tt.resumes {
				t.Errorf("resumes: %v, want %v", got, tt.resumes)
			}
		})
	}
}

func TestOnlyACallThatIsReplayedAsksAPersonForPermission(t *testing.T) {
	for _, test := range []struct {
		mode core.ResumeMode
		kind core.TicketKind
		want bool
	}{
		{core.ResumeReplay, core.TicketPerson, true},
		{"", "", true},
		{core.ResumeAsResult, core.TicketPerson, false},
		{core.ResumeAsArguments, core.TicketPerson, false},
		{core.ResumeReplay, core.TicketClient, false},
		{core.ResumeReplay, core.TicketChild, false},
	} {
		if got := (core.Ticket{Mode: test.mode, Kind: test.kind}).AsksPermission(); got != test.want {
			t.Errorf("%q, %q: %v, want %v", test.mode, test.kind, got, test.want)
		}
	}
}

func TestArgumentsAreAnObjectOfADecisionThatResumes(t *testing.T) {
	for _, tt := range []struct {
		action    core.DecisionAction
		arguments string
		want      string
	}{
		{core.DecisionResume, ` {"a":1}`, ""},
		{core.DecisionResume, `{"a":`, "arguments are not a JSON object"},
		{core.DecisionResume, `[1]`, "arguments are not a JSON object"},
		{core.DecisionResume, `null`, "arguments are not a JSON object"},
		{core.DecisionCancel, `{"a":1}`, `action "cancel" has arguments, allowed are arguments with "resume"`},
	} {
		got := ""
		err := core.Decision{Action: tt.action, Arguments: json.RawMessage(tt.arguments)}.Check()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || err != nil && core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s %s: %q, want %q", tt.action, tt.arguments, got, tt.want)
		}
	}
}

func TestWhoHasDecided(t *testing.T) {
	for _, tt := range []struct {
		kind     core.TicketKind
		decision core.Decision
		want     core.Decider
	}{
		{"", core.Decision{ID: "d"}, core.Decider{Kind: core.DeciderPerson}},
		{core.TicketPerson, core.Decision{ID: "d", User: "ann"}, core.Decider{Kind: core.DeciderPerson, User: "ann"}},
		{core.TicketPerson, core.Decision{ID: "wake-0000000000000007"}, core.Decider{Kind: core.DeciderTime}},
		{core.TicketTimer, core.Decision{ID: "wake-0000000000000007"}, core.Decider{Kind: core.DeciderTime}},
		{core.TicketTimer, core.Decision{ID: "d", User: "ann"}, core.Decider{Kind: core.DeciderPerson, User: "ann"}},
		{core.TicketClient, core.Decision{ID: "d", User: "ann"}, core.Decider{Kind: core.DeciderClient, User: "ann"}},
		{core.TicketChild, core.Decision{ID: "d"}, core.Decider{Kind: core.DeciderChild}},
	} {
		if got := (core.Ticket{Kind: tt.kind}).Decider(tt.decision); got != tt.want {
			t.Errorf("a ticket of kind %q, decision %+v: %+v, want %+v", tt.kind, tt.decision, got, tt.want)
		}
	}
}

package toolcall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
)

func TestWhatADecisionMayBring(t *testing.T) {
	const text = `{"type":"string"}`
	tests := []struct {
		name    string
		mode    core.ResumeMode
		kind    core.TicketKind
		schema  string
		action  core.DecisionAction
		payload string
		want    string // the error; empty: none
	}{
		{"a replay without a payload", core.ResumeReplay, "", text, core.DecisionResume, ``, ""},
		{"a replay of no mode without a payload", "", "", text, core.DecisionResume, ``, ""},
		{"a replay with a payload", core.ResumeReplay, "", text, core.DecisionResume, `"yes"`, ""},
		{"a replay with another payload", core.ResumeReplay, "", text, core.DecisionResume, `5`, `property "payload": got integer, want string`},
		{"a replay of no mode with another payload", "", "", text, core.DecisionResume, `5`, `property "payload": got integer, want string`},
		{"a result without a payload", core.ResumeAsResult, "", text, core.DecisionResume, ``, `property "payload": got null, want string`},
		{"a result that may be null", core.ResumeAsResult, "", `{"type":"null"}`, core.DecisionResume, ``, ""},
		{"arguments without a payload", core.ResumeAsArguments, "", text, core.DecisionResume, ``, `property "payload": got null, want string`},
		{"a result of another type", core.ResumeAsResult, "", text, core.DecisionResume, `5`, `property "payload": got integer, want string`},
		{"a cancel says what it likes", core.ResumeAsResult, "", text, core.DecisionCancel, `5`, ""},
		{"a refusal says what it likes", core.ResumeReplay, "", text, core.DecisionResume, `{"approved":false}`, ""},
		{"anything without a schema", core.ResumeReplay, "", ``, core.DecisionResume, `5`, ""},
		{"an approval", core.ResumeReplay, "", ``, core.DecisionResume, `{"approved":true}`, ""},
		{"an object that does not approve", core.ResumeReplay, core.TicketPerson, ``, core.DecisionResume, `{"note":"go"}`, ""},
		{"an approval that is none", core.ResumeReplay, "", ``, core.DecisionResume, `{"approved":"false"}`, `payload.approved is "false", want true or false`},
		{"an approval that is none, of no mode", "", core.TicketPerson, ``, core.DecisionResume, `{"approved":1}`, `payload.approved is 1, want true or false`},
		{"a client's approved", core.ResumeReplay, core.TicketClient, ``, core.DecisionResume, `{"approved":"false"}`, ""},
		{"approved within a result", core.ResumeAsResult, "", ``, core.DecisionResume, `{"approved":"false"}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ticket := core.Ticket{Mode: test.mode, Kind: test.kind, Suspension: core.Suspension{ResponseSchema: json.RawMessage(test.schema)}}
			got, err := "", toolcall.CheckDecision(ticket, core.Decision{Action: test.action, Payload: json.RawMessage(test.payload)})
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %q\n%s", core.CodeOf(err), diff)
			}
		})
	}
}

func TestOnlyAnswersToARequestForPermissionAreRemembered(t *testing.T) {
	const refused = "remember applies to requests for permission, the call waits for something else"
	for _, tt := range []struct {
		mode core.ResumeMode
		kind core.TicketKind
		want string
	}{
		{"", "", "<nil>"},
		{core.ResumeReplay, core.TicketPerson, "<nil>"},
		{core.ResumeReplay, core.TicketClient, refused},
		{core.ResumeReplay, core.TicketChild, refused},
		{core.ResumeAsResult, core.TicketPerson, refused},
		{core.ResumeAsArguments, core.TicketPerson, refused},
	} {
		for _, action := range []core.DecisionAction{core.DecisionResume, core.DecisionCancel} {
			for _, remember := range []core.Remember{core.RememberRun, core.RememberThread} {
				ticket := core.Ticket{Mode: tt.mode, Kind: tt.kind}
				if got := fmt.Sprint(toolcall.CheckDecision(ticket, core.Decision{Action: action, Remember: remember})); got != tt.want {
					t.Errorf("%q of %q: %s, want %s", tt.mode, tt.kind, got, tt.want)
				}
				if err := toolcall.CheckDecision(ticket, core.Decision{Action: action, Remember: core.RememberOnce}); err != nil {
					t.Errorf("%q of %q, once: %v", tt.mode, tt.kind, err)
				}
			}
		}
	}
}

func TestLimitsOfADecision(t *testing.T) {
	texts := func(payload, reason int) core.Decision {
		return core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`"` + strings.Repeat("x", payload-2) + `"`), Reason: strings.Repeat("x", reason)}
	}
	tests := []struct {
		name     string
		mode     core.ResumeMode
		decision core.Decision
		want     string
	}{
		{"a replay at the limit", core.ResumeReplay, texts(262_134, 10), "<nil>"},
		{"a replay over it", core.ResumeReplay, texts(262_135, 10), "payload and reason of the decision have 262145 bytes, at most 262144 are allowed"},
		{"arguments over it", core.ResumeAsArguments, texts(10, 262_135), "payload and reason of the decision have 262145 bytes, at most 262144 are allowed"},
		{"a result at the limit", core.ResumeAsResult, texts(1_048_566, 10), "<nil>"},
		{"a result over it", core.ResumeAsResult, texts(1_048_567, 10), "payload and reason of the decision have 1048577 bytes, at most 1048576 are allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := toolcall.CheckDecision(core.Ticket{Mode: test.mode}, test.decision)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" || err != nil && core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("code %q\n%s", core.CodeOf(err), diff)
			}
		})
	}
}

// What a suspension says is measured together, and each mode and kind exists.
func TestWhatASuspensionMayBe(t *testing.T) {
	for _, mode := range []core.ResumeMode{"", core.ResumeReplay, core.ResumeAsResult, core.ResumeAsArguments} {
		for _, kind := range []core.TicketKind{"", core.TicketPerson, core.TicketClient, core.TicketChild} {
			if err := toolcall.CheckTicketRequest(core.TicketRequest{Mode: mode, Kind: kind}); err != nil {
				t.Errorf("mode %q and kind %q: %v", mode, kind, err)
			}
		}
	}
	// 5 + 9 + 1,048,560 + 2 bytes
	most := core.TicketRequest{Action: "tool:", Parameters: json.RawMessage(`{"a":"b"}`), Message: strings.Repeat("x", 1_048_560), Response: json.RawMessage(`{}`)}
	if err := toolcall.CheckTicketRequest(most); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	most.Message += "x"
	if err := toolcall.CheckTicketRequest(most); err != toolcall.ErrResultTooLarge {
		t.Errorf("behind the limit: %v, want ErrResultTooLarge", err)
	}
}

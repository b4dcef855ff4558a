package toolcall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
)

func TestArgumentsOfADecision(t *testing.T) {
	const other = `arguments of a call of kind %q with resume_mode %q cannot be edited, allowed are kind "person" with "replay_tool_call" or "pass_decision_to_tool"`
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	tests := []struct {
		name      string
		ticket    core.Ticket
		payload   string
		arguments string
		code      core.Code
		want      string
	}{
		{"replay", core.Ticket{Mode: core.ResumeReplay, Kind: core.TicketPerson}, ``, `{"a":1}`, "", "<nil>"},
		{"of no mode and kind", core.Ticket{}, ``, `{"a":1}`, "", "<nil>"},
		{"replay with an approval", core.Ticket{}, `{"approved":true}`, `{"a":1}`, "", "<nil>"},
		{"as the arguments", core.Ticket{Mode: core.ResumeAsArguments}, ``, `{"a":1}`, "", "<nil>"},
		{"as the result", core.Ticket{Mode: core.ResumeAsResult, Kind: core.TicketPerson}, ``, `{"a":1}`, core.CodeInvalid, fmt.Sprintf(other, "person", "use_decision_as_tool_result")},
		{"of a client", core.Ticket{Mode: core.ResumeReplay, Kind: core.TicketClient}, ``, `{"a":1}`, core.CodeInvalid, fmt.Sprintf(other, "client", "replay_tool_call")},
		{"of a child", core.Ticket{Mode: core.ResumeReplay, Kind: core.TicketChild}, ``, `{"a":1}`, core.CodeInvalid, fmt.Sprintf(other, "child", "replay_tool_call")},
		{"with a denial", core.Ticket{}, `{"approved":false}`, `{"a":1}`, core.CodeInvalid, "the decision denies the call and has arguments for it"},
		{"as the arguments, with a payload", core.Ticket{Mode: core.ResumeAsArguments}, `{}`, `{"a":1}`, core.CodeInvalid, `the decision has both arguments and a payload, which is the arguments with resume_mode "pass_decision_to_tool"`},
		{"as the arguments that are asked for", core.Ticket{Mode: core.ResumeAsArguments, Suspension: core.Suspension{ResponseSchema: json.RawMessage(`{"required":["a"]}`)}}, ``, `{"a":1}`, "", "<nil>"},
		{"as others", core.Ticket{Mode: core.ResumeAsArguments, Suspension: core.Suspension{ResponseSchema: json.RawMessage(`{"required":["b"]}`)}}, ``, `{"a":1}`, core.CodeInvalid, `property "payload.b" is missing`},
		{"at the limit", core.Ticket{}, ``, long(262_144), "", "<nil>"},
		{"over it", core.Ticket{}, ``, long(262_145), core.CodeTooLarge, "arguments are larger than 262144 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := toolcall.CheckDecision(tt.ticket, core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(tt.payload), Arguments: json.RawMessage(tt.arguments)})
			if got := fmt.Sprint(err); got != tt.want || core.CodeOf(err) != tt.code {
				t.Errorf("%s of code %q, want %s of %q", got, core.CodeOf(err), tt.want, tt.code)
			}
		})
	}
}

package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

func TestClientToolWaitsForItsClient(t *testing.T) {
	free := tool.Spec{Name: "where"}
	strict := tool.Spec{Name: "where", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
	tests := []struct {
		name       string
		spec       tool.Spec
		arguments  string
		parameters string // of the suspension; empty: there is none
		message    string
	}{
		{"any arguments", free, `{"b":[1],"a":"<x>"}`, `{"b":[1],"a":"<x>"}`, ""},
		{"no arguments", free, "", "{}", ""},
		{"a number that a float would round", free, `{"n":12345678901234567}`, `{"n":12345678901234567}`, ""},
		{"no object", free, `[1]`, "", "invalid arguments: the arguments: got array, want object"},
		{"as its parameters say", strict, `{"n":1}`, `{"n":1}`, ""},
		{"not as its parameters say", strict, `{}`, "", `invalid arguments: property "n" is missing`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := tool.NewClient[map[string]any](test.spec)
			if !client.Spec().Client {
				t.Error("the spec does not say that the client runs the tool")
			}
			got, err := toolrun.Execute(t.Context(), client, tool.Call{ID: "c1", Name: "where", Arguments: json.RawMessage(test.arguments)})
			if err != nil {
				t.Fatal(err)
			}
			var want *core.TicketRequest
			if test.parameters != "" {
				want = &core.TicketRequest{
					Action: "tool:where", Parameters: json.RawMessage(test.parameters),
					Mode: core.ResumeAsResult, Kind: core.TicketClient,
				}
			}
			if diff := cmp.Diff(want, got.Suspend); diff != "" || got.Message != test.message {
				t.Errorf("message %q, want %q (-want +got):\n%s", got.Message, test.message, diff)
			}
		})
	}
}

func TestClientToolWithoutANameIsRefused(t *testing.T) {
	if err := tool.NewClient[map[string]any](tool.Spec{}).Spec().Check(); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("got %v, want an error with code invalid", err)
	}
}

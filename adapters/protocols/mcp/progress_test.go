package mcp

import (
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/core"
)

func TestWhatIsToldOfAModelThatFails(t *testing.T) {
	tests := []struct {
		event core.Event
		want  string
	}{
		{core.Event{Type: core.EventInferenceRetry, Wait: 500}, "the model failed and is asked again"},
		{core.Event{Type: core.EventModelSwitch, From: "a", Model: "b"}, "the model failed and another one is asked"},
		{core.Event{Type: core.EventModelCircuit, Status: "open", Wait: 29_001}, "the model fails too often and is asked again in 30 s"},
		{core.Event{Type: core.EventModelCircuit, Status: "closed"}, ""},
		{core.Event{Type: core.EventToolCallSuspended, Ticket: &core.Ticket{Tool: "pay", Kind: core.TicketPerson}}, "pay waits for a decision"},
		{core.Event{Type: core.EventToolCallSuspended, Ticket: &core.Ticket{Tool: "nap", Kind: core.TicketTimer, WakeAt: 946688400000}}, "nap waits until 2000-01-01T01:00:00Z"},
		{core.Event{Type: core.EventToolCallSuspended, Ticket: &core.Ticket{Tool: "nap", Kind: core.TicketTimer, WakeAt: 946688400001}}, "nap waits until 2000-01-01T01:00:01Z"},
		{core.Event{Type: core.EventPrefixChanged, Reason: "cut"}, ""},
		{core.Event{Type: core.EventContextCompacted, UpTo: 4}, ""},
		{core.Event{Type: core.EventContextSkipped, UpTo: 4, Reason: "stale"}, ""},
	}
	for _, tt := range tests {
		if got := progressOf(tt.event); got != tt.want {
			t.Errorf("%s is told as %q, want %q", tt.event.Type, got, tt.want)
		}
	}
}

// A timer next to a question leaves the question as one to decide.
func TestATimerNextToAQuestion(t *testing.T) {
	timer := core.Ticket{Tool: "nap", Arguments: []byte(`{}`), Kind: core.TicketTimer, WakeAt: 946688400000}
	question := core.Ticket{Tool: "pay", Arguments: []byte(`{}`), Kind: core.TicketPerson}
	const run = "00000000-0000-0000-0000-000000000007"
	got := waits(core.Run{ID: core.ID{15: 7}, Tickets: []core.Ticket{timer, question}}, outcome{})
	want := "Run " + run + " waits.\n- nap {}, until 2000-01-01T01:00:00Z\n- pay {}\nTickets of a person are decided with POST /v1/runs/" + run + "/decision. Ask get_run afterwards."
	if text := got.Content[0].(*sdk.TextContent).Text; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

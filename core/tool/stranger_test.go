package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/tool"
)

// doubling is a schema whose definitions refer twice to the next.
func doubling(levels int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, levels)
	return json.RawMessage(b.String())
}

// Every way that a schema takes has the bound.
func TestSchemasThatMultiplyAreRefusedEverywhere(t *testing.T) {
	asks := core.TicketRequest{Action: "ask", Response: doubling(18)}
	made := tool.NewClient[map[string]any](tool.Spec{Name: "draw", Parameters: doubling(18)}).Spec().Check()
	for name, err := range map[string]error{
		"a tool of the client": made,
		"a question":           toolcall.CheckTicketRequest(asks),
		"an answer":            toolcall.CheckJSON("answer", doubling(18), json.RawMessage(`{}`)),
	} {
		if !errors.Is(err, schema.ErrTooComplex) || !strings.Contains(err.Error(), "more than 4096 schemas apply to one value") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code := core.CodeOf(toolcall.CheckTicketRequest(asks)); code != core.CodeTooLarge {
		t.Errorf("a question: code %s", code)
	}
}

// A schema may multiply with the depth of the arguments alone: then the call fails, and
// says why.
func TestArgumentsThatTakeTooLongToCheckFailTheCall(t *testing.T) {
	each := json.RawMessage(`{"type":"object","additionalProperties":{"$ref":"#/$defs/any"},"$defs":{"any":{"anyOf":[{"items":{"$ref":"#/$defs/any"}},{"items":{"$ref":"#/$defs/any"}}]}}}`)
	draw := tool.NewClient[map[string]any](tool.Spec{Name: "draw", Parameters: each})
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	err := draw.Check(json.RawMessage(`{"a":` + deep + `}`))
	if !errors.Is(err, schema.ErrTooComplex) || err.Error() != "JSON Schema is too complex: checking the value takes more than 1000000 steps" {
		t.Errorf("%v", err)
	}
	ticket := core.Ticket{Mode: core.ResumeAsResult, Suspension: core.Suspension{ResponseSchema: each}}
	err = toolcall.CheckDecision(ticket, core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"a":` + deep + `}`)})
	if !errors.Is(err, schema.ErrTooComplex) || core.CodeOf(err) != core.CodeTooLarge {
		t.Errorf("a decision: %v", err)
	}
}

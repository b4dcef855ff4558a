package aisdk

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// uiMessages converts a thread's messages, oldest first, to the form in which
// the client keeps them. All turns of a run and their results are one assistant
// message, whose id is the run id, at the place of the run's first turn.
func uiMessages(messages []core.Message) []uiMessage {
	c := converter{out: []uiMessage{}, runs: map[core.ID]int{}, calls: map[string][]place{}}
	for _, m := range messages {
		switch m.Role {
		case core.RoleUser:
			c.out = append(c.out, uiMessage{ID: m.ID, Role: "user", Parts: textParts(m.Content, "")})
		case core.RoleAssistant:
			c.turn(m)
		case core.RoleTool:
			c.result(m)
		}
	}
	return c.out
}

type converter struct {
	out   []uiMessage
	runs  map[core.ID]int    // index in out of a run's message
	calls map[string][]place // where calls without a result stand; an id can repeat
}

type place struct{ message, part int }

func (c *converter) turn(m core.Message) {
	i, ok := c.runs[m.RunID]
	if !ok {
		i = len(c.out)
		c.runs[m.RunID] = i
		c.out = append(c.out, uiMessage{ID: m.RunID.String(), Role: "assistant"})
	}
	parts := append(c.out[i].Parts, uiPart{Type: "step-start"})
	parts = append(parts, textParts(m.Content, "done")...)
	for _, call := range m.ToolCalls {
		c.calls[call.ID] = append(c.calls[call.ID], place{i, len(parts)})
		parts = append(parts, uiPart{
			Type: "tool-" + call.Name, ToolCallID: call.ID,
			State: "input-available", Input: orElse(call.Arguments, "{}"),
		})
	}
	c.out[i].Parts = parts
}

func (c *converter) result(m core.Message) {
	r := m.ToolResult
	if r == nil {
		return
	}
	open := c.calls[r.CallID]
	if len(open) == 0 {
		return // of a turn that is not in the list
	}
	at := open[0]
	c.calls[r.CallID] = open[1:]
	part := &c.out[at.message].Parts[at.part]
	if r.IsError {
		part.State, part.ErrorText = "output-error", resultError(*r)
		return
	}
	part.State, part.Output = "output-available", resultData(*r)
}

// resultData is the output that the stream carried for the same result.
func resultData(r core.ToolResult) json.RawMessage {
	if len(r.Data) > 0 {
		return r.Data
	}
	if r.Message == "" {
		return []byte("null")
	}
	text, _ := json.Marshal(r.Message) // a string always marshals
	return text
}

func resultError(r core.ToolResult) string {
	if len(r.Data) == 0 && r.Message != "" {
		return r.Message
	}
	return errorText(r.Data)
}

// textParts converts text and reasoning; state is what a streamed part ends
// with, empty for what a user typed.
func textParts(content []core.Block, state string) []uiPart {
	parts := []uiPart{}
	for _, b := range content {
		switch b.Type {
		case core.BlockText:
			parts = append(parts, uiPart{Type: "text", Text: b.Text, State: state})
		case core.BlockReasoning:
			parts = append(parts, uiPart{Type: "reasoning", Text: b.Text, State: state})
		}
	}
	return parts
}

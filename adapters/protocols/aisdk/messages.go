package aisdk

import (
	"encoding/json"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// convert brings a thread's messages, oldest first, into the form in which the client
// keeps them. All turns of a run and their results are one assistant message at the place
// of the first, up to input that superseded decisions. The runtime's own texts to a model
// are omitted.
func convert(messages []core.Message) *converter {
	c := &converter{out: []uiMessage{}, runs: map[core.ID]shownRun{}, calls: map[string][]place{}}
	for _, m := range messages {
		if m.Repair {
			continue
		}
		switch m.Role {
		case core.RoleUser:
			c.input(m)
		case core.RoleAssistant:
			c.addTurn(m)
		case core.RoleTool:
			c.result(m)
		}
	}
	return c
}

type converter struct {
	out   []uiMessage
	runs  map[core.ID]shownRun
	calls map[string][]place // the places of calls without a result; an id can repeat
	last  core.ID            // run of the newest turn
}

type place struct{ message, part int }

// shownRun is what has been shown of a run.
type shownRun struct {
	message int  // index in out of its newest message
	step    int  // of its newest turn
	ends    bool // that turn has a call that waited, and the run resumed: see ends
	ended   bool // the next turn begins another message
	sources *sources
}

// open returns the run whose calls have no result, if there is one: calls of a
// run that is not the newest have theirs.
func (c *converter) open() (core.ID, bool) {
	for _, places := range c.calls {
		for _, at := range places {
			if at.message == c.runs[c.last].message {
				return c.last, true
			}
		}
	}
	return core.ID{}, false
}

// tickets shows what the open run's calls wait for, and decisions that the run
// has not read yet as the client has them that decided.
func (c *converter) tickets(run core.ID, tickets []core.Ticket) {
	for _, t := range tickets {
		places := c.calls[t.CallID]
		i := slices.IndexFunc(places, func(at place) bool { return at.message == c.runs[run].message })
		if i < 0 {
			continue
		}
		part := &c.out[places[i].message].Parts[places[i].part]
		c.calls[t.CallID] = slices.Delete(slices.Clone(places), i, i+1)
		part.suspend(t)
	}
}

func (p *uiPart) suspend(t core.Ticket) {
	d := t.Decision
	switch {
	case t.AsksPermission() && d == nil:
		p.State, p.ToolPart = "approval-requested", &ToolPart{Approval: &approval{ID: t.Suspension.ID}}
	case t.AsksPermission():
		resumes := t.Resumes(*d)
		p.State, p.ToolPart = "approval-responded", &ToolPart{Approval: &approval{ID: t.Suspension.ID, Approved: &resumes, Reason: d.Reason}}
	case d == nil: // the client has to give the output
	case t.Kind == core.TicketTimer && t.Mode != core.ResumeAsResult && t.Resumes(*d): // the tool gives it
	case t.Resumes(*d):
		p.State, p.Output = "output-available", orElse(d.Payload, "null")
	default:
		p.State, p.ErrorText = "output-error", d.Reason
	}
}

func (c *converter) input(m core.Message) {
	c.out = append(c.out, uiMessage{ID: m.ID, Role: "user", Parts: contentParts(m.Content, "")})
	if r := c.runs[m.RunID]; r.ends {
		r.ended = true
		c.runs[m.RunID] = r
	}
}

func (c *converter) addTurn(m core.Message) {
	c.last = m.RunID
	r, ok := c.runs[m.RunID]
	if !ok || r.ended {
		id := messageID(m.RunID, r.step)
		r = shownRun{message: len(c.out), sources: &sources{}}
		c.out = append(c.out, uiMessage{ID: id, Role: "assistant"})
	}
	r.step, r.ends = m.Step, false
	c.runs[m.RunID] = r
	i := r.message
	parts := append(c.out[i].Parts, uiPart{Type: "step-start"})
	parts = append(parts, contentParts(m.Content, "done")...)
	for _, call := range m.ToolCalls {
		c.calls[call.ID] = append(c.calls[call.ID], place{i, len(parts)})
		parts = append(parts, uiPart{
			Type: "tool-" + call.Name, ToolCallID: call.ID,
			State: "input-available", Input: orElse(call.Arguments, "{}"),
		})
	}
	c.out[i].Parts = append(parts, r.sources.sourceParts(m.Step, m.Content)...)
}

// result puts a result into the part of its call. Provider ids may repeat in a thread:
// results come in the order of the calls, so the oldest open call of the id is meant.
func (c *converter) result(m core.Message) {
	r := m.ToolResult
	if r == nil {
		return
	}
	if run, ok := c.runs[m.RunID]; ok && ends(m) {
		run.ends = true
		c.runs[m.RunID] = run
	}
	open := c.calls[r.CallID]
	if len(open) == 0 {
		return // of a turn that is not in the list
	}
	at := open[0]
	c.calls[r.CallID] = open[1:]
	defer c.files(at.message, r.Content) // which moves the parts
	part := &c.out[at.message].Parts[at.part]
	switch {
	case r.Status == core.ResultDenied:
		// The client's own check requires an approval here. It can no longer be decided,
		// so the call's id suffices.
		no := false
		part.State, part.ToolPart = "output-denied", &ToolPart{Approval: &approval{ID: r.CallID, Approved: &no}}
	case r.IsError:
		part.State, part.ErrorText = "output-error", resultError(*r)
	default:
		part.State, part.Output = "output-available", withMetadata(resultData(*r), r.Metadata)
	}
}

// files adds the files of a result to the message of its call.
func (c *converter) files(message int, content []core.Block) {
	for _, b := range content {
		if b.Type == core.BlockFile {
			c.out[message].Parts = append(c.out[message].Parts, filePart(b))
		}
	}
}

// resultData is the output that the stream carried for the same result.
func resultData(r core.ToolResult) json.RawMessage {
	data := r.Data
	if len(data) == 0 && r.Message != "" {
		data, _ = json.Marshal(r.Message) // a string always marshals
	}
	return orElse(protocol.Output(data, r.Content), "null")
}

func resultError(r core.ToolResult) string {
	if len(r.Data) == 0 && r.Message != "" {
		return r.Message
	}
	return errorText(r.Data)
}

// contentParts converts text, reasoning and files; state is what a streamed part ends
// with, empty for what a user typed.
func contentParts(content []core.Block, state string) []uiPart {
	parts := []uiPart{}
	for _, b := range content {
		switch b.Type {
		case core.BlockText:
			parts = append(parts, uiPart{Type: "text", Text: b.Text, State: state})
		case core.BlockReasoning:
			parts = append(parts, uiPart{Type: "reasoning", Text: b.Text, State: state})
		case core.BlockFile:
			parts = append(parts, filePart(b))
		}
	}
	return parts
}

package acp

import (
	"encoding/json"
	"strconv"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// update is one session/update. The library's types are not used here: they take
// numbers apart on their way, and a large one does not survive that.
type update struct {
	Kind    string `json:"sessionUpdate"`
	Content any    `json:"content,omitempty"` // of a chunk a block, of a tool call a list

	CallID    string             `json:"toolCallId,omitempty"`
	Title     string             `json:"title,omitempty"`
	Tool      string             `json:"kind,omitempty"`
	Status    sdk.ToolCallStatus `json:"status,omitempty"`
	RawInput  json.RawMessage    `json:"rawInput,omitempty"`
	RawOutput json.RawMessage    `json:"rawOutput,omitempty"`
}

// textBlock is a content block of text.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func chunk(kind, text string) update {
	return update{Kind: kind, Content: textBlock{"text", text}}
}

// The kinds of updates.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
	toolCall     = "tool_call"
	toolUpdate   = "tool_call_update"
)

// content is a text as what a tool call shows.
func content(text string) []sdk.ToolCallContent {
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}
}

// encoder turns the events of one turn into updates. It does no I/O.
type encoder struct {
	kinds map[string]string
	// The client's copy of a run: text and calls of its steps up to shownSteps.
	shownRun   core.ID
	shownSteps int

	open []call // calls that have no result yet, in order of appearance
}

// call is a tool call as the client knows it.
type call struct {
	id       string // unique in the session
	provider string // the provider's id, which may repeat in another turn
	name     string
}

// callID names a call in its session: a provider's id may come again in each turn.
func callID(run core.ID, step int, provider string) string {
	return run.String() + "." + strconv.Itoa(step) + "." + provider
}

func (e *encoder) kind(tool string) string {
	if kind, ok := e.kinds[tool]; ok {
		return kind
	}
	return string(sdk.ToolKindOther)
}

// encode returns the updates that an event becomes, often none.
func (e *encoder) encode(event core.Event) []update {
	if event.Child != nil || e.shown(event) && event.Type != core.EventToolCallDone { // a child run has no place in the session
		return nil
	}
	switch event.Type {
	case core.EventTextDelta:
		return said(agentChunk, event.Delta)
	case core.EventReasoningDelta:
		return said(thoughtChunk, event.Delta)
	case core.EventTextAnnotations:
		return sources(event.Annotations)
	case core.EventToolCallStart:
		_, updates := e.begin(event)
		return updates
	case core.EventToolCallReady:
		c, updates := e.begin(event)
		return append(updates, update{Kind: toolUpdate, CallID: c.id, Status: sdk.ToolCallStatusInProgress, RawInput: event.Arguments})
	case core.EventToolCallSuspended:
		return e.status(event, sdk.ToolCallStatusPending)
	case core.EventToolCallResumed:
		return e.status(event, sdk.ToolCallStatusInProgress)
	case core.EventToolCallDone:
		return e.done(event)
	case core.EventToolCallCancel:
		return e.void(event.CallID)
	case core.EventStepRestarted:
		return e.abandon()
	}
	return nil
}

// shown reports whether the client has what an event says.
func (e *encoder) shown(event core.Event) bool {
	return event.RunID == e.shownRun && 0 < event.Step && event.Step <= e.shownSteps
}

func said(kind, text string) []update {
	if text == "" {
		return nil
	}
	return []update{chunk(kind, text)}
}

// find returns the newest open call with a provider's id; nil: there is no such call.
func (e *encoder) find(provider string) *call {
	for i := len(e.open) - 1; i >= 0; i-- {
		if e.open[i].provider == provider {
			return &e.open[i]
		}
	}
	return nil
}

// begin shows a call unless it is shown already.
func (e *encoder) begin(event core.Event) (call, []update) {
	if c := e.find(event.CallID); c != nil {
		return *c, nil
	}
	c := call{id: callID(event.RunID, event.Step, event.CallID), provider: event.CallID, name: event.Name}
	e.open = append(e.open, c)
	return c, []update{{Kind: toolCall, CallID: c.id, Title: c.name, Tool: e.kind(c.name), Status: sdk.ToolCallStatusPending}}
}

// callOf is the call that a ticket is about.
func (e *encoder) callOf(t core.Ticket) call {
	if c := e.find(t.CallID); c != nil {
		return *c
	}
	return call{id: t.CallID, provider: t.CallID, name: t.Tool}
}

func (e *encoder) status(event core.Event, s sdk.ToolCallStatus) []update {
	if event.Ticket != nil && event.Ticket.Decision != nil {
		return nil
	}
	c := e.find(event.CallID)
	if c == nil {
		return nil
	}
	return []update{{Kind: toolUpdate, CallID: c.id, Status: s}}
}

// done shows a result. The call may be one of a step that the client has.
func (e *encoder) done(event core.Event) []update {
	id := callID(event.RunID, event.Step, event.CallID)
	if c := e.find(event.CallID); c != nil {
		id = c.id
		e.forget(event.CallID)
	}
	return []update{result(id, protocol.Output(event.Result, event.Blocks), event.Blocks, event.IsError)}
}

// result is how a call ended.
func result(id string, data json.RawMessage, blocks []core.Block, failed bool) update {
	u := update{Kind: toolUpdate, CallID: id, Status: sdk.ToolCallStatusCompleted, RawOutput: data}
	shown := fileContent(blocks)
	if text := readable(data); text != "" || len(shown) == 0 {
		shown = append(content(text), shown...)
	}
	u.Content = shown
	if failed {
		u.Status = sdk.ToolCallStatusFailed
	}
	return u
}

// readable is a result as people read it: a text without its quotes, an error without
// its braces, anything else as JSON.
func readable(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var failed struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(data, &failed) == nil && failed.Error != "" {
		return failed.Error
	}
	return string(data)
}

func (e *encoder) forget(provider string) {
	for i := len(e.open) - 1; i >= 0; i-- {
		if e.open[i].provider == provider {
			e.open = append(e.open[:i], e.open[i+1:]...)
			return
		}
	}
}

// void ends a call that was cut off.
func (e *encoder) void(provider string) []update {
	c := e.find(provider)
	if c == nil {
		return nil
	}
	id := c.id
	e.forget(provider)
	return []update{{Kind: toolUpdate, CallID: id, Status: sdk.ToolCallStatusFailed}}
}

// abandon ends every open call: the turn is over, or its step starts again.
func (e *encoder) abandon() (updates []update) {
	for _, c := range e.open {
		updates = append(updates, update{Kind: toolUpdate, CallID: c.id, Status: sdk.ToolCallStatusFailed})
	}
	e.open = nil
	return updates
}

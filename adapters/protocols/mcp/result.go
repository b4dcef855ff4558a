package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// outcome is the structured content of every result that is about a run.
type outcome struct {
	RunID       core.ID           `json:"run_id"`
	ThreadID    string            `json:"thread_id"`
	AgentID     string            `json:"agent_id"`
	Status      string            `json:"status"`                // queued, running, waiting, done
	Termination *core.Termination `json:"termination,omitempty"` // done: how it ended
	ToolStatus  core.ResultStatus `json:"tool_status,omitempty"` // of a tool by itself, done: the outcome of the call
	Result      json.RawMessage   `json:"result,omitempty"`      // of a tool by itself, done: the data of its result
	Tickets     []ticket          `json:"tickets,omitempty"`     // waiting: what for
}

// ticket is a call that waits for a decision.
type ticket struct {
	core.Ticket
	Decide *decide `json:"decide,omitempty"` // nil: another run's end, or the clock, decides
}

// decide is the HTTP request that decides about a ticket. With the action cancel the
// call does not run.
type decide struct {
	Method string     `json:"method"`
	Path   string     `json:"path"`
	Body   decideBody `json:"body"`
}

type decideBody struct {
	SuspensionID string              `json:"suspension_id"`
	Action       core.DecisionAction `json:"action"`
}

// problem is the structured content of a call that started no run.
type problem struct {
	Status string `json:"status"` // refused
	protocol.Problem
}

// refused is the result of a call that started no run.
func refused(err error) *sdk.CallToolResult {
	p := protocol.Public(err)
	return said(p.Error, problem{"refused", p}, true)
}

func said(text string, structured any, failed bool) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: structured, IsError: failed}
}

// resultOf returns the state of a run.
func (h *handler) resultOf(c call, record core.Run) (*sdk.CallToolResult, error) {
	o := outcome{
		RunID: record.ID, ThreadID: record.ThreadID, AgentID: record.AgentID,
		Status: string(record.Status), Termination: record.Termination,
	}
	switch record.Status {
	case core.RunDone:
		return h.done(c, record, o)
	case core.RunWaiting:
		return waits(record, o), nil
	case core.RunCreated:
		o.Status = "queued"
	}
	return said(fmt.Sprintf("Run %s goes on. Ask %s for its answer.", record.ID, getRun), o, false), nil
}

// done returns the outcome of a run.
func (h *handler) done(c call, record core.Run, o outcome) (*sdk.CallToolResult, error) {
	t := core.Termination{Type: core.TerminationNatural}
	if record.Termination != nil {
		t = *record.Termination
	}
	text, failed := record.Response, false
	var more []sdk.Content // after the text
	switch t.Type {
	case core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped:
	default:
		text, failed = failureOf(t, record.ID), true
	}
	if e, known := h.exposed[record.AgentID]; known && e.Parameters != nil {
		result, err := h.toolResult(c, record)
		if err != nil {
			return nil, err
		}
		if result != nil {
			o.ToolStatus, o.Result = result.Status, result.Data
			failed = failed || result.IsError
			more = fileContent(result.Content)
		}
	} else if text != "" {
		last, err := h.lastResponse(c, record)
		if err != nil {
			return nil, err
		}
		if last != nil {
			more = sources(last)
		}
	}
	if text == "" {
		text = "(no response)"
	}
	result := said(text, o, failed)
	result.Content = append(result.Content, more...)
	return result, nil
}

// failureOf describes the end of a run without a response.
func failureOf(t core.Termination, run core.ID) string {
	text := "Run " + run.String() + " ended without an answer: " + string(t.Type)
	for _, more := range []string{t.Code, t.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// toolResult is the result of the only tool of a run; nil: it has none.
func (h *handler) toolResult(c call, record core.Run) (*core.ToolResult, error) {
	m, err := h.newest(c, record, core.RoleTool)
	if m == nil {
		return nil, err
	}
	return m.ToolResult, err
}

// lastResponse is the newest turn of a run; nil: it has none among the newest messages of
// its thread.
func (h *handler) lastResponse(c call, record core.Run) (*core.Message, error) {
	return h.newest(c, record, core.RoleAssistant)
}

func (h *handler) newest(c call, record core.Run, role core.Role) (*core.Message, error) {
	page, err := h.Host.Messages(c.ctx, c.identity, record.ThreadID, host.MessageQuery{Newest: true})
	if err != nil {
		return nil, protocol.Hide(err, "thread", record.ThreadID)
	}
	for _, m := range slices.Backward(page.Messages) {
		if m.RunID == record.ID && m.Role == role {
			return &m, nil
		}
	}
	return nil, nil
}

// open are the tickets without a decision.
func open(tickets []core.Ticket) []core.Ticket {
	return slices.DeleteFunc(slices.Clone(tickets), func(t core.Ticket) bool { return t.Decision != nil })
}

// waits tells what a run waits for, and how to go on with it.
func waits(record core.Run, o outcome) *sdk.CallToolResult {
	var text strings.Builder
	fmt.Fprintf(&text, "Run %s waits.", record.ID)
	timers := 0
	for _, t := range open(record.Tickets) {
		o.Tickets = append(o.Tickets, ticketOf(record.ID, t))
		fmt.Fprintf(&text, "\n- %s %s", t.Tool, t.Arguments)
		if t.Suspension.Message != "" {
			text.WriteString(": " + t.Suspension.Message)
		}
		if t.Kind == core.TicketTimer {
			timers++
			text.WriteString(", until " + wakes(t))
		}
	}
	for _, t := range record.ChildTickets() {
		o.Tickets = append(o.Tickets, ticketOf(t.RunID, t.Ticket))
		fmt.Fprintf(&text, "\n- %s %s of run %s, which it has started", t.Tool, t.Arguments, t.RunID)
		if t.Suspension.Message != "" {
			text.WriteString(": " + t.Suspension.Message)
		}
	}
	if timers < len(o.Tickets) {
		fmt.Fprintf(&text, "\nTickets of a person are decided with POST %s. Ask %s afterwards.", decisionPath(record.ID), getRun)
	} else {
		fmt.Fprintf(&text, "\nIt continues by itself. Ask %s afterwards.", getRun)
	}
	return said(text.String(), o, false)
}

func ticketOf(run core.ID, t core.Ticket) ticket {
	out := ticket{Ticket: t}
	if t.Kind != core.TicketChild && t.Kind != core.TicketTimer {
		out.Decide = &decide{Method: "POST", Path: decisionPath(run), Body: decideBody{t.Suspension.ID, core.DecisionResume}}
	}
	return out
}

// wakes is the time of a timer, rounded up so that nothing is asked too early.
func wakes(t core.Ticket) string {
	return time.UnixMilli(t.WakeAt + 999).UTC().Format(time.RFC3339)
}

func decisionPath(run core.ID) string { return "/v1/runs/" + run.String() + "/decision" }

package mcp

import (
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/core"
)

// progress tells a client that asked for it what its run does: one notification for
// each step and for each call of a tool. It is not called concurrently.
type progress struct {
	call  call
	token any // nil: the client did not ask
	count float64
}

// emit takes an event of the run. It does not wait for the reader, see [bridge]. Its
// error would end the events alone, and the answer is to come in any case.
func (p *progress) emit(e core.Event) error {
	text := progressOf(e)
	if p.token == nil || text == "" {
		return nil
	}
	p.count++
	_ = p.call.request.Session.NotifyProgress(p.call.session, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.count, Message: text,
	})
	return nil
}

// progressOf is the text of an event for a waiting client; empty: none.
func progressOf(e core.Event) string {
	switch e.Type {
	case core.EventRunStart:
		return "run " + e.RunID.String()
	case core.EventStepStart:
		return fmt.Sprintf("step %d", e.Step)
	case core.EventToolCallReady:
		return "calling " + e.Name
	case core.EventToolCallSuspended:
		if e.Ticket != nil && e.Ticket.Kind == core.TicketTimer {
			return e.Ticket.Tool + " waits until " + wakes(*e.Ticket)
		}
		if e.Ticket != nil {
			return e.Ticket.Tool + " waits for a decision"
		}
	case core.EventToolCallDone:
		return e.Name + ": " + e.Status
	case core.EventInferenceRetry:
		return "the model failed and is asked again"
	case core.EventModelSwitch:
		return "the model failed and another one is asked"
	case core.EventModelCircuit:
		if e.Wait > 0 {
			return fmt.Sprintf("the model fails too often and is asked again in %d s", (e.Wait+999)/1000)
		}
	}
	return ""
}

package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// noQuestions is what the model reads of a call that this protocol cannot ask about.
const noQuestions = "the user cannot be asked here: the editor's protocol has no questions but for permission"

// nextDecision decides the first waiting call of the run, or of one that it has started. If the call waits for permission, the
// client is asked. If it waits for another input, it is cancelled, so that the model
// reads the reason and the run continues. found is false if no call waits for a decision
// here.
func (t *talk) nextDecision(run core.ID) (d mailbox.Deciding, found bool, err error) {
	record, err := t.c.Host.ReadRun(t.c.ctx, t.c.Identity, run)
	if err != nil {
		return d, false, err
	}
	for _, ticket := range record.Tickets {
		if ticket.Decision != nil || ticket.Kind == core.TicketChild || ticket.Kind == core.TicketTimer {
			continue
		}
		d = mailbox.Deciding{Run: run, Target: ticket.Suspension.ID, User: t.c.Identity.User}
		if !ticket.AsksPermission() {
			d.Decision = core.Decision{Action: core.DecisionCancel, Reason: noQuestions}
			return d, true, nil
		}
		d.Decision, err = t.ask(run, ticket, t.encoder.callOf(ticket))
		return d, true, err
	}
	if children := record.ChildTickets(); len(children) > 0 {
		ticket := children[0]
		d = mailbox.Deciding{Run: ticket.RunID, Target: ticket.Suspension.ID, User: t.c.Identity.User}
		if !ticket.AsksPermission() {
			d.Decision = core.Decision{Action: core.DecisionCancel, Reason: noQuestions}
			return d, true, nil
		}
		d.Decision, err = t.ask(ticket.RunID, ticket.Ticket, call{id: ticket.RunID.String() + "." + ticket.CallID, name: ticket.Tool})
		return d, true, err
	}
	return d, false, nil
}

// ask asks the client for permission. If the turn is cancelled in between, there is no
// decision. A client without a valid response decides nothing either: its prompt is an
// error, and the run keeps waiting.
func (t *talk) ask(run core.ID, ticket core.Ticket, of call) (core.Decision, error) {
	ctx, stop := context.WithCancel(t.c.ctx)
	defer stop()
	var waiting = make(chan struct{})
	go func() {
		defer close(waiting)
		select {
		case <-t.prompt.over:
			stop()
		case <-ctx.Done():
		}
	}()
	response, err := sdk.SendRequest[sdk.RequestPermissionResponse](t.c.wire, ctx, sdk.ClientMethodSessionRequestPermission, t.question(ticket, of))
	stop()
	<-waiting
	switch {
	case t.prompt.cancelled():
		return core.Decision{}, nil
	case err != nil && t.c.ctx.Err() != nil:
		return core.Decision{}, context.Cause(t.c.ctx)
	case err != nil:
		t.c.log.Error("permission request to the client failed", "session", t.session, "run", run, "error", err)
		return core.Decision{}, &sdk.RequestError{Code: protocol.RPCInternal, Message: "the client did not answer session/request_permission; the call still waits"}
	case response.Outcome.Cancelled != nil:
		t.prompt.cancel()
		return core.Decision{}, nil
	case response.Outcome.Selected != nil:
		if d, ok := t.decision(ticket, string(response.Outcome.Selected.OptionId)); ok {
			return d, nil
		}
	}
	return core.Decision{}, &sdk.RequestError{Code: protocol.RPCInvalidParams, Message: "the answer to session/request_permission names none of its options; the call still waits"}
}

// question is a ticket as the client reads it.
func (t *talk) question(ticket core.Ticket, call call) sdk.RequestPermissionRequest {
	return sdk.RequestPermissionRequest{
		SessionId: sdk.SessionId(t.session), Options: options(ticket),
		ToolCall: sdk.ToolCallUpdate{
			ToolCallId: sdk.ToolCallId(call.id), Title: sdk.Ptr(call.name), Kind: sdk.Ptr(sdk.ToolKind(t.encoder.kind(call.name))),
			Status: sdk.Ptr(sdk.ToolCallStatusPending), RawInput: ticket.Arguments,
			Content: content(cmp.Or(ticket.Suspension.Message, "May the agent use the tool "+call.name+"?")),
		},
	}
}

// options are the answers that a client can give, each under its kind as its id. Only
// who remembers answers is offered them for always.
func options(ticket core.Ticket) []sdk.PermissionOption {
	option := func(kind sdk.PermissionOptionKind, name string) sdk.PermissionOption {
		return sdk.PermissionOption{Kind: kind, Name: name, OptionId: sdk.PermissionOptionId(kind)}
	}
	once := []sdk.PermissionOption{option(sdk.PermissionOptionKindAllowOnce, "Allow once"), option(sdk.PermissionOptionKindRejectOnce, "Reject once")}
	if ticket.Suspension.Action != core.ActionConfirm {
		return once
	}
	what := about(ticket)
	return []sdk.PermissionOption{
		once[0], option(sdk.PermissionOptionKindAllowAlways, fmt.Sprintf("Always allow %s in this session", what)),
		once[1], option(sdk.PermissionOptionKindRejectAlways, fmt.Sprintf("Always reject %s in this session", what)),
	}
}

// about describes the subject of an always decision: the tool, or the rule that asks if
// it is more precise.
func about(ticket core.Ticket) string {
	var asked struct {
		Rule string `json:"rule"`
	}
	if json.Unmarshal(ticket.Suspension.Parameters, &asked) != nil || asked.Rule == "" {
		return ticket.Tool
	}
	return core.Excerpt(asked.Rule)
}

// decision is what an option says; false: it was not offered.
func (t *talk) decision(ticket core.Ticket, option string) (core.Decision, bool) {
	kind := sdk.PermissionOptionKind(option)
	rejects := kind == sdk.PermissionOptionKindRejectOnce || kind == sdk.PermissionOptionKindRejectAlways
	d := protocol.Permission(!rejects)
	d.Remember = core.RememberOnce
	switch kind {
	case sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways:
		if kind == sdk.PermissionOptionKindRejectOnce {
			return d, true
		}
	case sdk.PermissionOptionKindAllowOnce:
		return d, true
	case sdk.PermissionOptionKindAllowAlways:
	default:
		return d, false
	}
	d.Remember, d.RememberAs = core.RememberThread, core.RememberRule
	return d, ticket.Suspension.Action == core.ActionConfirm
}

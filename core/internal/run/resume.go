package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// resume continues a call after the decision about it. It returns the outcome of
// the call if the decision alone determines it; nil: its tool is to run, if it
// passes the checks and gates again. The head's status only shows that a decision
// exists. The decision's record has the decision itself, since the same words
// decide in every build.
func (g *gates) resume(ctx context.Context, t *task) (*conclusion, error) {
	r := g.round
	at := slices.IndexFunc(r.holder.head.Tickets, func(k thread.Ticket) bool { return int(k.Call) == t.index })
	if at < 0 { // a person said something instead of deciding, and the ticket went with it
		return &conclusion{result: synthetic(core.ResultCancelled, "cancelled: the user went on without deciding")}, nil
	}
	decision, ticket, err := g.decision(ctx, r.holder.head.Tickets[at])
	if err != nil {
		return nil, err
	}
	// Both go into every outcome of the call: the result names the decision that it
	// follows, and a gate that asks the same again counts as granted.
	t.after.decision = decision.ID
	t.suspended = append(slices.Clone(ticket.Suspended), ticket.Suspension.ID)
	t.at = r.timeOf(InstantAsked, t.index, len(t.suspended))
	ticket.Ticket.Decision = &decision.Decision
	r.holder.events.Resumed(&ticket.Ticket)
	t.resume = &core.Resume{Suspension: ticket.Suspension.ID, Decision: decision.Decision}
	t.answers = answers(ticket, decision.Decision)
	if !ticket.Resumes(decision.Decision) {
		// Nothing looks at the arguments any more, and AfterToolExecute does not run.
		hooks, err := g.askRefusal(ctx, t)
		if err != nil {
			return nil, err
		}
		return &conclusion{result: refusal(decision.Decision, ticket.Ticket), hooks: hooks, after: t.after}, nil
	}
	if ticket.Mode == core.ResumeAsResult {
		return &conclusion{result: given(decision.Decision), hooks: asked(ticket), after: t.after}, nil
	}
	t.edit(ticket, decision.Decision)
	return nil, nil
}

// edit puts the arguments in place that the call runs with, if a decision has set
// them: this one, or one on an earlier suspension. They are a person's, and checked
// like the model's, which the turn keeps.
func (t *task) edit(ticket thread.TicketRecord, d core.Decision) {
	switch {
	case len(d.Arguments) > 0:
		t.after.arguments = d.Arguments
	case ticket.Mode == core.ResumeAsArguments:
		t.after.arguments = d.Payload
	case ticket.Edited:
		t.after.arguments = ticket.Arguments
	default:
		return
	}
	t.call.Arguments = t.after.arguments
}

// answers are the durations that the decisions on a call have set, the newest last.
// Nothing else of them is kept: a payload is for the call that it answers.
func answers(t thread.TicketRecord, d core.Decision) []core.Resume {
	if d.Remember == "" {
		return t.Answers
	}
	kept := core.Decision{Action: d.Action, Remember: d.Remember, RememberAs: d.RememberAs}
	return append(slices.Clone(t.Answers), core.Resume{Suspension: t.Suspension.ID, Decision: kept})
}

// askRefusal returns what counts with a refusal: where the decision is to be remembered,
// what remembers it. The gates of a call that is denied change nothing.
func (g *gates) askRefusal(ctx context.Context, t *task) (state.Command, error) {
	if !t.resume.Decision.Lasts() {
		return state.Command{}, nil
	}
	r := g.round
	return r.base.hooks.refused(ctx, g.viewOf(t), engine.Moment{
		Turn: &r.turn, Call: &t.call, CallIndex: t.index, Resume: t.resume, Approval: approvalOf(r.draft.tool(r.base.agent, t.call.Name)),
	})
}

// decision reads what the head's ticket names: the decision, and what was decided
// about. Neither record counts for itself; a head that names one which is not
// there is damaged.
func (g *gates) decision(ctx context.Context, t thread.Ticket) (d thread.DecisionRecord, k thread.TicketRecord, err error) {
	r := g.round
	turn := r.first - 1
	if err := r.holder.readRecord(ctx, "ticket", recordname.Suspension(r.holder.id, turn, t.Call, t.ID), &k); err != nil {
		return d, k, err
	}
	return d, k, r.holder.readRecord(ctx, "decision", recordname.Decision(r.holder.id, turn, t.Call, t.Decision), &d)
}

// asked is the command of the gates and BeforeToolExecute when the call started to
// wait. It counts with a result that comes without running them again.
func asked(t thread.TicketRecord) state.Command {
	if t.Hooks == nil {
		return state.Command{}
	}
	return *t.Hooks
}

// refusal is the result of a call that a decision does not let continue. An
// approver who was asked for permission and gave none has denied it.
func refusal(d core.Decision, t core.Ticket) tool.Result {
	status := core.ResultCancelled
	if t.Refuses(d) || t.Mode == core.ResumeReplay && t.Kind != core.TicketTimer {
		status = core.ResultDenied
	}
	message := string(status)
	if d.Reason != "" {
		message += ": " + d.Reason
	}
	return synthetic(status, message)
}

// given is the result that a decision is itself. It has the limits of a tool's.
func given(d core.Decision) tool.Result {
	if len(d.Payload) > toolcall.MaxResult {
		return tool.Failed("the decision cannot be the result: " + toolcall.ErrResultTooLarge.Error())
	}
	result := tool.Result{ToolResult: core.ToolResult{Data: d.Payload, Status: core.ResultSet}}
	if len(d.Payload) == 0 {
		result.Data = []byte("null") // a model must read something
	}
	return result
}

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A call's turn and result say nothing of the wait between them but the decision's id. The
// rest is in the records of the ticket and of the decision, which are read only for calls
// that have waited.

// CallWait is a wait of a call for a decision, as far as the records of the run have it.
// Times are unix milliseconds; 0: not known, or not yet.
type CallWait struct {
	// Asked is when the gate or the tool asked.
	Asked int64
	// Answered is when the worker that continued the call after the decision started its
	// round. No record has the time of the decision itself, since a repeated decision must
	// have the same content. If the round waited for the decisions on its other calls too, or
	// that worker lost its claim, it is later.
	Answered int64
	// Action is what the decision did to the call: core.DecisionCancel also for a payload that
	// denies. Empty: it is not decided, or not known.
	Action core.DecisionAction
	// Edited are the arguments with which the call runs instead of the model's, because a
	// decision set them; nil: it runs with the model's.
	Edited json.RawMessage
	// Reason is that of a decision that denied the call.
	Reason string
	// Child is the run that the call waits for, or has waited for; nil: none.
	Child *CallChild
	// WakeAt is when the clock decides, or would have decided; 0: it has no such time.
	WakeAt int64
	// Woken means that the clock has decided.
	Woken bool
	// User is the user on whose behalf a person or a client has decided; empty: none is known.
	User string
}

// CallChild is the child run of a call. Its thread and agent are empty if the child is gone.
type CallChild struct {
	RunID    core.ID
	ThreadID string
	AgentID  string
}

// decidedCall is a call on a page whose result follows a decision.
type decidedCall struct {
	step, call int    // indexes in the page
	turn       uint64 // sequence of its turn
	resumed    int64  // when the claim that gave the result started the round
}

// waitsAtOnce is how many waits of a page are read concurrently.
const waitsAtOnce = 10

// noteWaits fills in the waits of the calls on a page: of those that have their result after
// a decision, and of those that the head's tickets are of.
func (r *reader) noteWaits(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID, b *steps) error {
	// In portions, so that a page of 200 steps does not start thousands of reads together.
	// Each writes a separate call.
	for some := range slices.Chunk(b.decided, waitsAtOnce) {
		group, _ := r.env.Group(ctx)
		for _, d := range some {
			group.Go(func(ctx context.Context) error {
				return unlessDamaged(r.noteWait(ctx, key, runID, d, &b.page.Steps[d.step].Calls[d.call]))
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	if !b.open || len(head.Tickets) == 0 {
		return nil
	}
	return unlessDamaged(r.noteTickets(ctx, key, head, b.page.Steps[len(b.page.Steps)-1].Calls))
}

// unlessDamaged drops an error of a record that cannot be decoded. A timeline without a
// detail is better than none.
func unlessDamaged(err error) error {
	if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
		return nil
	}
	return err
}

// noteWait reads the decision that a result names, and the ticket that it is about. The name
// of the decision's record has the suspension too, which the result does not know. So the
// decisions on the call are listed: one for each of its suspensions, and those of refused
// attempts.
func (r *reader) noteWait(ctx context.Context, key core.ThreadKey, runID core.ID, d decidedCall, c *StepCall) error {
	const most = 100
	records, err := r.store.Records(ctx, key, recordname.Decisions(runID, d.turn, uint8(d.call)), "", most)
	if err != nil {
		return err
	}
	for _, record := range records {
		var said thread.DecisionRecord
		if err := r.records.Decode("decision", record.Payload, &said); err != nil || said.ID != c.Decision {
			continue // another decision, or a newer program's
		}
		name := recordname.Suspension(runID, d.turn, uint8(d.call), said.About(runID))
		stored, ok, err := r.store.Get(ctx, key, name)
		if err != nil || !ok {
			return err
		}
		// Both records count: the result, which is committed, names the decision, and the
		// decision names the suspension.
		var ticket thread.TicketRecord
		if err := r.records.Decode("ticket", stored.Payload, &ticket); err != nil {
			return err
		}
		c.setWait(ticket.Ticket, said.Decision)
		if d.resumed >= c.Wait.Asked { // the claim that asked may have given the result also
			c.Wait.Answered = d.resumed
		}
		return nil
	}
	return nil
}

// noteTickets fills in the calls that wait, or that a decision resumes next. calls are those
// of the head's open round.
func (r *reader) noteTickets(ctx context.Context, key core.ThreadKey, head thread.Head, calls []StepCall) error {
	tickets, err := r.mailbox.Tickets(ctx, key, head)
	if err != nil {
		return err
	}
	// Tickets come in call order, without their calls: the head has these, in any order.
	held := slices.SortedFunc(slices.Values(head.Tickets), func(a, b thread.Ticket) int { return cmp.Compare(a.Call, b.Call) })
	for i, ticket := range tickets {
		c := &calls[held[i].Call]
		if ticket.Decision != nil {
			c.setWait(ticket, *ticket.Decision)
			continue
		}
		c.Wait.Asked, c.Wait.WakeAt = ticket.CreatedAt, ticket.WakeAt
		if ticket.Kind != core.TicketChild {
			continue
		}
		if c.Wait.Child, err = r.waitedFor(ctx, key, head.Owner, ticket.Suspension.ID); err != nil {
			return err
		}
	}
	return nil
}

// setWait fills in a wait that is over.
func (c *StepCall) setWait(t core.Ticket, d core.Decision) {
	c.Wait.Asked, c.Wait.Action = t.CreatedAt, core.DecisionCancel
	c.Wait.WakeAt, c.Wait.Woken, c.Wait.User = t.WakeAt, t.WakeAt != 0 && d.Woken(), d.User
	if t.Resumes(d) {
		c.Wait.Action = core.DecisionResume
	} else {
		c.Wait.Reason = d.Reason
	}
	if c.Wait.Edited == nil && c.Result == nil && c.Wait.Action == core.DecisionResume {
		c.Wait.Edited = d.Arguments // it has not run with them yet
	}
	// The end of a child is the payload of the decision, and has its ids: the child itself
	// need not be read, and may be deleted.
	var end core.ChildEnd
	if t.Kind == core.TicketChild && json.Unmarshal(d.Payload, &end) == nil {
		c.Wait.Child = &CallChild{RunID: end.RunID, ThreadID: end.ThreadID, AgentID: end.AgentID}
	}
}

// waitedFor finds the child run whose id is that of a suspension. A child that is gone has its
// id alone.
func (r *reader) waitedFor(ctx context.Context, key core.ThreadKey, owner, suspension string) (*CallChild, error) {
	id, err := core.ParseID(suspension)
	if err != nil {
		return nil, nil
	}
	child := &CallChild{RunID: id}
	at, dispatch, ok, err := r.mailbox.Locate(ctx, key.Tenant, id)
	if err != nil || !ok {
		return child, err
	}
	head, err := r.mailbox.Head(ctx, at)
	if err != nil {
		return nil, err
	}
	if foreign(head, owner) {
		return child, nil
	}
	// The agent is the child's own matter: its run may not have started, and then its
	// queued input has it.
	child.ThreadID = at.Thread
	run, ok, err := r.mailbox.Run(ctx, at, head, id, dispatch)
	if err != nil {
		return nil, err
	}
	if ok {
		child.AgentID = run.AgentID
	}
	return child, nil
}

package replay

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// answerTickets repeats the acts on tickets: some are decided, or a person sent a message
// instead.
func (d *director) answerTickets(ctx context.Context, s *recordedStep, tickets []thread.Ticket) (decided, spoke bool, err error) {
	var lasting []thread.Ticket
	for _, t := range tickets {
		call := int(t.Call)
		n := s.ticket(t)
		if n < 0 {
			continue
		}
		decision, ok := s.decision(call, n)
		switch {
		case ok && lasts(t):
			lasting = append(lasting, t)
			continue
		case !ok:
			result := s.result(call)
			cancelled := n+1 == len(s.asked[call]) && s.superseded(result) && !lasts(t)
			// If a round was closed, the close cancelled its calls, unless the round
			// continued.
			goesOn := !d.closesIn(s) || slices.ContainsFunc(d.next(s), func(w wait) bool { return slices.Contains(w.Merged, call) })
			spoke = spoke || cancelled && goesOn
			continue
		}
		if err := d.decide(ctx, s, t, s.asked[call][n].Ticket, decision); err != nil {
			return decided, spoke, err
		}
		decided = true
	}
	if spoke {
		if err := d.speak(ctx, s); err != nil {
			return decided, true, err
		}
	}
	// These come last: a decision makes the run continue, and then no message ends its waits.
	for _, t := range lasting {
		n := s.ticket(t)
		decision, _ := s.decision(int(t.Call), n)
		if err := d.decide(ctx, s, t, s.asked[int(t.Call)][n].Ticket, decision); err != nil {
			return decided, spoke, err
		}
		decided = true
	}
	return decided, spoke, nil
}

// lasts reports whether a message leaves a ticket open.
func lasts(t thread.Ticket) bool { return t.Kind == thread.TicketChild || t.Keep }

// speak sends the message that ended waits of the round, unless one is there.
func (d *director) speak(ctx context.Context, s *recordedStep) error {
	head, err := d.box.Head(ctx, d.recording.key)
	if err != nil || len(head.Inbox) > 0 {
		return err
	}
	if err := d.decideHeld(ctx, s, head); err != nil {
		return err
	}
	if err := d.steer(ctx, d.number+1, thread.InboxPerson, 1); err != nil || d.heard[d.number+1] > 0 {
		return err
	}
	return d.interject(ctx)
}

// decideHeld decides, before a person speaks, about calls of a batch that the round's next
// wait does not wait for and has no results of: they were decided by then, and held back by
// another ticket, a child's.
func (d *director) decideHeld(ctx context.Context, s *recordedStep, head thread.Head) error {
	waits := d.next(s)
	if !head.Run.Batch || len(waits) == 0 {
		return nil
	}
	for _, t := range without(undecided(head.Tickets), waits[0].Waits) {
		n := s.ticket(t)
		if n < 0 || lasts(t) { // it holds them back
			continue
		}
		if decision, ok := s.decision(int(t.Call), n); ok {
			if err := d.decide(ctx, s, t, s.asked[int(t.Call)][n].Ticket, decision); err != nil {
				return err
			}
		}
	}
	return nil
}

// superseded reports whether a call that waited has its result because a person said
// something instead of deciding.
func (s *recordedStep) superseded(result *thread.Entry) bool {
	if result == nil || result.Decision != "" {
		return false
	}
	status := result.Message.ToolResult.Status
	return status == core.ResultCancelled || status == core.ResultNotExecuted && s.blocked()
}

// decide takes a recorded decision on a ticket.
func (d *director) decide(ctx context.Context, s *recordedStep, t thread.Ticket, ticket core.Ticket, decision thread.DecisionRecord) error {
	key := decision.Key(d.recording.record.ID)
	change := thread.Decide{Run: d.recording.record.ID, Call: t.Call, Ticket: t.ID, Decision: key, Resume: ticket.Resumes(decision.Decision)}
	if t.Kind == thread.TicketChild {
		change.Child, _ = core.ParseID(ticket.Suspension.ID) // the end of a run has decided it
	}
	d.pass(s, t)
	_, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, change, func(thread.Head, thread.Result) ([]store.Record, error) {
		payload, err := d.o.Records.Encode("decision", decision)
		return []store.Record{{Name: recordname.Decision(d.recording.record.ID, s.seq, t.Call, key), Payload: payload}}, err
	})
	return err
}

// withdraw takes back what a person said and the run does not read, before a wait that it would
// have ended: by then it was withdrawn.
func (d *director) withdraw(ctx context.Context, w wait, open []thread.Ticket) error {
	if !slices.ContainsFunc(open, func(t thread.Ticket) bool { return !lasts(t) && slices.Contains(w.Waits, t.ID) }) {
		return nil
	}
	return d.retract(ctx)
}

// retract withdraws what interject has said, if it is not read.
func (d *director) retract(ctx context.Context) error {
	head, err := d.box.Head(ctx, d.recording.key)
	if err != nil || !slices.ContainsFunc(head.Inbox, func(e thread.InboxEntry) bool { return e.ID == interjected }) {
		return err
	}
	_, _, err = d.box.Commit(ctx, d.recording.key, head, thread.Retract{ID: interjected}, nil)
	return err
}

package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// waiting are the tickets that the head does not have yet, in call order, with
// their records. If two calls want the last place, the first one gets it, in every
// claim that reaches the same point.
func (w *tickets) waiting() (tickets []thread.Ticket, records []store.Record) {
	r := w.round
	for i := range r.calls {
		if c := &r.calls[i]; c.stage == asking {
			tickets = append(tickets, c.ticket.Ticket)
			records = append(records, store.Record{Name: w.name(c.ticket), Payload: c.ticket.payload})
		}
	}
	return tickets, records
}

// callPart is how the step leaves the calls; marks are those that start now and must not
// start twice. It is made from the head that the step knows. A decision may have come since
// for a call that it says is suspended; Apply keeps that.
func (w *tickets) callPart(marks []int) callPart {
	r := w.round
	p := callPart{adopted: r.schemaMet(), through: r.letThrough(r.holder.head)}
	p.calls, _ = r.statuses(r.holder.head.Run.Calls)
	for i := range r.calls {
		if r.calls[i].stage == asking {
			p.calls[i] = thread.CallSuspended
		}
	}
	for _, i := range marks {
		p.calls[i] = thread.CallRunning
	}
	p.tickets, p.asked = w.waiting()
	return p
}

// commit makes known how far the round is, which continues. marks are calls that
// start now and must not start twice.
func (w *tickets) commit(ctx context.Context, marks []int) error {
	r := w.round
	was := r.holder.head
	if _, _, err := r.holder.write(ctx, &suspendWrite{round: w.callPart(marks)}); err != nil {
		return err
	}
	r.callEffects(ctx, was, r.holder.head) // of the calls that it has moved to done
	w.announce()                           // after the write, see there
	if !r.holder.claims() {                // the marks and tickets remain, but another worker starts their calls
		return thread.ErrFenced
	}
	return nil
}

// announce emits the tickets that a write has put in the head, after it: no
// decision can come so fast that it is not known. One that found no place there was
// never requested, and no event has it.
func (w *tickets) announce() {
	r := w.round
	for i := range r.calls {
		c := &r.calls[i]
		if c.stage != asking {
			continue
		}
		k := c.ticket
		if !slices.ContainsFunc(r.holder.head.Tickets, func(t thread.Ticket) bool { return t.ID == k.ID }) {
			c.stage, c.ticket = crowded, nil
			continue
		}
		c.stage, c.ticket = fresh, nil
		r.holder.events.Suspended(k.record.Ticket)
	}
}

package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// waiting are the tickets that the head does not have yet, in call order, with
// their records. Where two calls want the last place the first one gets it, in every
// claim that comes to the same point.
func (r *round) waiting() (tickets []thread.Ticket, records []store.Record) {
	for i := range r.calls {
		if c := &r.calls[i]; c.stage == asking {
			tickets = append(tickets, c.ticket.Ticket)
			records = append(records, store.Record{Name: r.ticketName(c.ticket), Payload: c.ticket.payload})
		}
	}
	return tickets, records
}

// callPart is how the step leaves the calls; marks are those that start now and must not
// start twice. It is made from the head that the step knows. A decision may have come since
// for a call that it says is suspended; Apply keeps that.
func (r *round) callPart(marks []int) callPart {
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
	p.tickets, p.asked = r.waiting()
	return p
}

// commitSuspend makes known how far the round is, and goes on with it.
func (r *round) commitSuspend(ctx context.Context, marks []int) error {
	if _, _, err := r.draft.save(ctx, r, &suspendWrite{round: r.callPart(marks)}); err != nil {
		return err
	}
	r.announceTickets()     // after the write, see there
	if !r.holder.claims() { // the marks and tickets stand, but another worker starts what they are for
		return thread.ErrFenced
	}
	return nil
}

// announceTickets tells of the tickets that a write has put in the head, after it:
// no decision can come so fast that it is not known. One that found no place there
// was never asked for, and nobody hears of it.
func (r *round) announceTickets() {
	for i := range r.calls {
		c := &r.calls[i]
		if c.stage != asking {
			continue
		}
		k := c.ticket
		c.stage, c.ticket = crowded, nil
		if slices.ContainsFunc(r.holder.head.Tickets, func(t thread.Ticket) bool { return t.Call == k.Call && t.ID == k.ID }) {
			c.stage = fresh
			r.holder.events.Suspended(k.record.Ticket)
		}
	}
}

// values are what the round has come to, see waitWrite.values.
func (r *round) values() thread.RoundRecord {
	return thread.RoundRecord{
		Turn: r.first - 1, Patch: state.Join(r.draft.patches...), Revision: r.draft.snapshot.Revision(), Merged: r.mergedInOrder(), Totals: r.draft.totals, After: r.draft.since,
	}
}

// mergedInOrder are the calls that the draft has merged, in the order in which it did.
func (r *round) mergedInOrder() []int {
	if r.merged == 0 {
		return nil
	}
	calls := make([]int, r.merged)
	for i := range r.calls {
		if n := r.calls[i].result.merged; n > 0 {
			calls[n-1] = i
		}
	}
	return calls
}

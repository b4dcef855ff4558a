package run

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Two writes make a wait known: commitSuspend while calls of the round still run,
// and commitWait, which ends the step when none does. Both propose; Apply decides
// which calls find a place, and whether there is still something to wait for
// (thread.Suspend, thread.CommitStep with the outcome Wait). runRound comes here.

// waiting are the tickets that the head does not have yet, in call order, with
// their records. Where two calls want the last place the first one gets it, in every
// claim that comes to the same point.
func (r *round) waiting() (tickets []thread.Ticket, records []store.Record) {
	for _, c := range r.calls {
		if c.ticket != nil {
			tickets = append(tickets, c.ticket.Ticket)
			records = append(records, store.Record{Name: r.ticketName(c.ticket), Payload: c.ticket.payload})
		}
	}
	return tickets, records
}

// leave are the statuses with which the step leaves the calls; marks are those
// that start now and must not start twice. They are made from the head that the
// step knows. A decision may have come since for a call that they say is suspended;
// Apply keeps it.
func (r *round) leave(marks []int) []thread.CallStatus {
	calls, _ := r.statuses(r.head.Run.Calls)
	for i, c := range r.calls {
		if c.ticket != nil {
			calls[i] = thread.CallSuspended
		}
	}
	for _, i := range marks {
		calls[i] = thread.CallRunning
	}
	return calls
}

// commitSuspend makes known how far the round is while calls of it still run:
// tickets can be decided from then on, and of a marked call a claim that finds no
// result knows only that it may have run.
func (r *round) commitSuspend(ctx context.Context, marks []int) error {
	// Made once, and not for every head that the write meets: the round is the step's
	// alone, and what decisions change meanwhile Apply merges.
	calls := r.leave(marks)
	tickets, records := r.waiting()
	_, err := r.save(ctx, r, func() thread.Change {
		return thread.Suspend{Fence: r.fence(), Calls: calls, Tickets: tickets, Schema: r.adopted(), Through: r.letThrough(r.head)}
	}, func(thread.Head, thread.Result) ([]store.Record, error) { return slices.Clone(records), nil })
	if err != nil {
		return err
	}
	r.announceTickets() // after the write, see there
	if !r.claims() {    // the marks and tickets stand, but another worker starts what they are for
		return thread.ErrFenced
	}
	return nil
}

// announceTickets tells of the tickets that a write has put in the head, after it:
// no decision can come so fast that it is not known. One that found no place there
// was never asked for, and nobody hears of it.
func (r *round) announceTickets() {
	for _, c := range r.calls {
		k := c.ticket
		if k == nil {
			continue
		}
		c.ticket = nil
		stands := slices.ContainsFunc(r.head.Tickets, func(t thread.Ticket) bool { return t.Call == k.Call && t.ID == k.ID })
		if !stands {
			c.crowded = true
			continue
		}
		r.events.Suspended(k.record.Ticket)
	}
}

// commitWait ends the step while calls wait for decisions. What the head makes of
// it counts: when a decision has come meanwhile, or a person's input, the run goes
// on at once. StepEnd has not run then; it belongs to the round's end.
func (m *machine) commitWait(ctx context.Context) (Stepped, error) {
	r, from := m.round, m.head.Seq // nothing of the log becomes visible: the results' places are not all taken
	// Not the log: R#, the tickets and the round's values are all that a wait stores.
	calls := r.leave(nil)
	tickets, records := r.waiting()
	record := m.record // m.record is that of the last write that counts: build is called for heads that come to nothing
	result, err := m.save(ctx, r, func() thread.Change {
		return thread.CommitStep{
			Fence: m.fence(), From: from, Seq: from, Outcome: thread.Wait, Calls: calls, Tickets: tickets, Round: true, Through: r.letThrough(r.head),
			Schema: r.adopted(), Lacks: r.lacks, Lease: m.lease.Milliseconds(), Keep: m.keep, Followed: m.chunks.followed(),
		}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		open, failure := r.roundRecord(next)
		built := append(slices.Clone(records), open)
		if result.Outcome != thread.Wait { // it goes on at once: the run's record need not say that it waits
			return built, failure
		}
		record = m.recordFor(next, result, nil)
		built, err := m.addUsage(built, next, result, &record, nil)
		if err != nil {
			return nil, err
		}
		built, err = m.addRun(built, next, result.Outcome, &record, m.env.Millis())
		return built, errors.Join(failure, err)
	})
	if err != nil {
		return Stepped{}, err
	}
	m.record = record
	m.tellUsage()
	if result.Outcome == thread.Wait {
		m.leave(ctx, m.totals)
	}
	r.announceTickets()
	if result.Outcome == thread.Wait {
		m.report(ctx, m.record.Run)
	}
	m.round = nil
	m.forget() // all of it is stored: a step that goes on reads it back, as another worker would
	return m.handedOn(result.Outcome), nil
}

// roundRecord is what the round has come to: whoever goes on with it starts from
// these values, and merges only what came later. It is stored with every wait, also
// when nothing was merged: a stream that shows what followed a decision finds by
// its open tickets where the wait was.
func (r *round) roundRecord(next thread.Head) (store.Record, error) {
	record := thread.RoundRecord{
		Turn: r.base - 1, Patch: state.Join(r.patches...), Revision: r.snapshot.Revision(), Merged: r.merged, Totals: r.totals, After: r.since, Fence: r.fence(),
	}
	for _, t := range next.Tickets {
		if undecided(t) {
			record.Waits = append(record.Waits, t.ID)
		}
	}
	payload, err := r.records.Encode("round", record)
	if err != nil {
		return store.Record{}, endWith("encoding", err)
	}
	return store.Record{Name: store.RoundName(r.id, next.Version), Payload: payload}, nil
}

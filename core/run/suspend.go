package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A call comes to wait in three moves, in this order whatever crashes between them:
//
//  1. A gate or its tool says so. That is in memory alone; a crash here asks the
//     gate again, or runs the tool again, which has only asked a question.
//  2. The ticket's record is stored, and then the head that has the ticket. From
//     there on anybody who reads the head can decide.
//  3. It is announced. To a stream that has ended before, the ticket is shown by
//     whoever reads the head next.
//
// The head has eight places for tickets, and Apply alone gives them away: what a
// step asks for is a proposal, and what stands in the head that comes back is the
// truth. The same holds for the end of the step: that it wants to wait does not
// mean that there is still something to wait for.

// ticket is what a call is to wait for. Its record is stored with the write that
// puts the ticket in the head, never after it: whoever sees the head can read it.
type ticket struct {
	thread.Ticket
	record  thread.TicketRecord
	payload []byte // record as it is stored: encoded once, since a write is built anew for every head that it meets
}

// suspend makes call t.index wait. The head does not know it yet: the ticket goes
// there with the next write, which is the step's last when nothing else runs.
// What a gate or tool asks for that cannot be waited for is the call's error.
func (p *step) suspend(ctx context.Context, t *task, s core.Suspend) error {
	if s.ID == "" {
		// The count makes the id another one each time, and the same one in every
		// claim: a crash between record and head leaves a record to be replaced.
		s.ID = fmt.Sprintf("%s.%d", strings.ReplaceAll(p.key(t.index), "/", "."), len(t.suspended)+1)
	}
	// Hooks go with the refusal as with any result: what they asked for counts.
	refuse := func(why string) error {
		p.log.WarnContext(ctx, "tool call failed", append(p.attrs(), "call", t.call.ID, "tool", t.call.Name, "error", why)...)
		return p.answer(ctx, t.index, answer{result: synthetic(core.ResultError, "execution failed: "+why), hooks: t.hooks, decision: t.decision})
	}
	if err := core.CheckName("suspension id", s.ID); err != nil {
		return refuse(err.Error())
	}
	if slices.Contains(t.suspended, s.ID) {
		// Granted again it would come to the same question for ever. A gate cannot
		// come here: the engine takes a granted suspension for an Allow.
		return refuse(fmt.Sprintf("the call waits for %q again, which was decided", s.ID))
	}
	k := newTicket(p.id, p.round.turn.ToolCalls[t.index], s)
	if p.asked(k.ID, t.index) { // who decides by it could mean either call
		return refuse(fmt.Sprintf("another call waits under the suspension id %q, which must be its own: left empty, one is made", s.ID))
	}
	k.Call, k.record.Suspended = uint8(t.index), t.suspended
	if !t.hooks.IsZero() {
		k.record.Hooks = &t.hooks
	}
	if s.Timeout > 0 { // from now, and not from the write: the record is made before it
		k.Deadline = p.env.Millis() + s.Timeout.Milliseconds()
		k.record.Deadline = k.Deadline
	}
	var err error
	if k.payload, err = p.records.Encode("ticket", k.record); err != nil {
		return refuse(err.Error())
	}
	if len(k.payload) >= largeResult {
		// What the store will never take is found here, where it costs the call its
		// ticket; in a commit it would cost the run. The version is that of the known
		// head: the write that puts the ticket in force has a later one and replaces it.
		record := store.Record{Name: p.ticketName(k), Fence: p.fence, Version: p.head.Version, Payload: k.payload}
		if err := p.put(ctx, record); errors.Is(err, store.ErrTooLarge) {
			return refuse("what it waits for is too large to be stored")
		} else if err != nil {
			return err
		}
	}
	p.round.calls[t.index].ticket = k
	return nil
}

// asked reports whether another call than the i-th waits under a suspension id,
// which is given in the head's form.
func (p *step) asked(id uint64, i int) bool {
	return slices.ContainsFunc(p.head.Tickets, func(t thread.Ticket) bool { return t.ID == id && int(t.Call) != i }) ||
		slices.ContainsFunc(p.round.calls, func(c *openCall) bool { return c.ticket != nil && c.ticket.ID == id && int(c.ticket.Call) != i })
}

// newTicket is the ticket of a suspension, with its defaults filled in.
func newTicket(run core.ID, call core.ToolCall, s core.Suspend) *ticket {
	k := &ticket{}
	k.record.Ticket = core.Ticket{Suspension: s.Suspension, Call: call, Mode: s.Mode, Kind: s.Kind}
	if k.record.Mode == "" {
		k.record.Mode = core.ResumeReplay
	}
	if k.record.Kind == "" {
		k.record.Kind = core.TicketPerson
	}
	// The head keeps the kind as a number and knows no others: one that it does not
	// know waits for a person, who sees what it is.
	switch k.record.Kind {
	case core.TicketClient:
		k.Kind = thread.TicketClient
	case core.TicketChild:
		k.Kind = thread.TicketChild
	}
	k.ID = thread.TicketKey(run, s.ID)
	return k
}

// ticketName is the name of the ticket's record. It follows from what the head
// says alone, so that whoever reads the head needs no index.
func (p *step) ticketName(k *ticket) string {
	return store.SuspensionName(p.id, p.round.base-1, k.Call, k.ID)
}

// waiting are the tickets that the head does not have yet, in call order, with
// their records. Where two calls want the last place the first one gets it, in every
// claim that comes to the same point.
func (p *step) waiting() (tickets []thread.Ticket, records []store.Record) {
	for _, c := range p.round.calls {
		if c.ticket != nil {
			tickets = append(tickets, c.ticket.Ticket)
			records = append(records, store.Record{Name: p.ticketName(c.ticket), Payload: c.ticket.payload})
		}
	}
	return tickets, records
}

// leave are the statuses with which the step leaves the calls; marks are those
// that start now and must not start twice. They are made from the head that the
// step knows. A decision may have come since for a call that they say is suspended;
// Apply keeps it.
func (p *step) leave(marks []int) []thread.CallStatus {
	calls, _ := p.round.statuses(p.head.Run.Calls, p.hooked())
	for i, c := range p.round.calls {
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
func (p *step) commitSuspend(ctx context.Context, marks []int) error {
	// Made once, and not for every head that the write meets: the round is the step's
	// alone, and what decisions change meanwhile Apply merges.
	calls := p.leave(marks)
	tickets, records := p.waiting()
	_, err := p.commit(ctx, func() thread.Change {
		return thread.Suspend{Fence: p.fence, Calls: calls, Tickets: tickets, Schema: p.adopted()}
	}, func(thread.Head, thread.Result) ([]store.Record, error) { return slices.Clone(records), nil })
	if err != nil {
		return err
	}
	p.announceTickets()
	if !p.claims() { // the marks and tickets stand, but another worker starts what they are for
		return thread.ErrFenced
	}
	return nil
}

// announceTickets tells of the tickets that a write has put in the head, after it:
// no decision can come so fast that it is not known. One that found no place there
// was never asked for, and nobody hears of it.
func (p *step) announceTickets() {
	for _, c := range p.round.calls {
		k := c.ticket
		if k == nil {
			continue
		}
		c.ticket = nil
		stands := slices.ContainsFunc(p.head.Tickets, func(t thread.Ticket) bool { return t.Call == k.Call && t.ID == k.ID })
		if !stands {
			c.crowded = true
			continue
		}
		p.events.emitUnplaced(suspendedEvent(k.record.Ticket))
	}
}

// commitWait ends the step while calls wait for decisions. What the head makes of
// it counts: when a decision has come meanwhile, or a person's input, the run goes
// on at once. StepEnd has not run then; it belongs to the round's end.
func (p *step) commitWait(ctx context.Context) (Stepped, error) {
	d, from := &p.draft, p.head.Seq // nothing of the log becomes visible: the results' places are not all taken
	calls := p.leave(nil)
	tickets, records := p.waiting()
	record := p.record // p.record is that of the last write that counts: build is called for heads that come to nothing
	result, err := p.commit(ctx, func() thread.Change {
		return thread.CommitStep{
			Fence: p.fence, From: from, Seq: from, Outcome: thread.Wait, Calls: calls, Tickets: tickets, Round: true,
			Schema: p.adopted(), Lease: p.lease.Milliseconds(), Keep: p.Keep,
		}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		open, failure := p.roundRecord(next)
		built := append(slices.Clone(records), open)
		if result.Outcome != thread.Wait { // it goes on at once: the run's record need not say that it waits
			return built, failure
		}
		record = p.recordFor(next, result, nil)
		stored, err := p.runRecord(record)
		return append(built, stored), errors.Join(failure, err)
	})
	if err != nil {
		return Stepped{}, err
	}
	p.record = record
	p.announceTickets()
	p.round, *d = nil, draft{} // all of it is stored: a step that goes on reads it back, as another worker would
	if result.Outcome == thread.Continue && !p.claims() {
		return Stepped{Outcome: thread.Yield, Head: p.head}, nil
	}
	return Stepped{Outcome: result.Outcome, Head: p.head}, nil
}

// roundRecord is what the round has come to: whoever goes on with it starts from
// these values, and merges only what came later. It is stored with every wait, also
// when nothing was merged: a stream that shows what followed a decision finds by
// its open tickets where the wait was.
func (p *step) roundRecord(next thread.Head) (store.Record, error) {
	r, d := p.round, &p.draft
	record := thread.RoundRecord{
		Turn: r.base - 1, Patch: state.Join(d.patches...), Revision: d.snapshot.Revision(), Merged: r.merged, Totals: d.totals,
	}
	for _, t := range next.Tickets {
		if undecided(t) {
			record.Waits = append(record.Waits, t.ID)
		}
	}
	payload, err := p.records.Encode("round", record)
	if err != nil {
		return store.Record{}, endWith("encoding", err)
	}
	return store.Record{Name: store.RoundName(p.id, next.Version), Payload: payload}, nil
}

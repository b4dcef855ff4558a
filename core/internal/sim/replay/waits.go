package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Head implements run.Committer.
func (d *director) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	return d.box.Head(ctx, key)
}

// Commit implements run.Committer.
func (d *director) Commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
	build func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c, isStep := change.(thread.CommitStep)
	if suspend, ok := change.(thread.Suspend); ok {
		suspend.Tickets = d.inOrder(suspend.Tickets)
		change = suspend
	}
	takenBack := false
	switch {
	case isStep && c.Outcome == thread.Wait:
		return d.commitWait(ctx, c, build)
	case isStep && c.Natural: // what was steered to the run keeps it from its end
		if err := d.steer(ctx, d.number+1, thread.InboxInternal, 1); err != nil {
			return known, thread.Result{}, err
		}
		// So did input that it did not read, or that was withdrawn.
		takenBack = d.number < d.recording.last && d.heard[d.number+1] == 0
		if end := d.recording.record.Termination; takenBack || d.recording.ended() && d.number == d.recording.last && end.Type != core.TerminationNatural {
			if err := d.interject(ctx); err != nil {
				return known, thread.Result{}, err
			}
		}
	}
	head, result, err := d.box.Commit(ctx, key, known, change, build)
	if err != nil {
		return head, result, err
	}
	if takenBack {
		if head, _, err = d.box.Commit(ctx, key, head, thread.Retract{ID: interjected}, nil); err != nil {
			return head, result, err
		}
	}
	switch change.(type) {
	case thread.Suspend:
		if head, err = d.decideInLine(ctx, head); err != nil {
			return head, result, err
		}
	case thread.CommitTurn:
		return head, result, d.giveBack(ctx)
	case thread.CommitStep:
		if result.Outcome == thread.Close && d.recording.record.Skipped {
			return head, result, d.giveBack(ctx)
		}
	}
	return head, result, nil
}

// decideInLine decides about calls that wait while later results in the line are held
// back: those were decided while siblings still ran. So was, as some rounds are read, the
// call over which a gate has ended the run. It returns the head then.
func (d *director) decideInLine(ctx context.Context, head thread.Head) (thread.Head, error) {
	s := d.recording.steps[int(head.Run.Step)]
	if s == nil {
		return head, nil
	}
	now := slices.DeleteFunc(undecided(head.Tickets), func(t thread.Ticket) bool {
		mine := s.result(int(t.Call))
		if s.blockedFirst && mine != nil && mine.Message.ToolResult.Status == core.ResultBlocked {
			return false
		}
		if mine == nil || mine.Place == 0 || !d.due(s, int(t.Call)) {
			return true
		}
		for i := range head.Run.Calls {
			if e := s.result(i); e != nil && e.Place > mine.Place && head.Run.Calls[i] != thread.CallDone && d.due(s, i) {
				return false
			}
		}
		return true
	})
	if len(now) == 0 {
		return head, nil
	}
	if _, _, err := d.answerTickets(ctx, s, now); err != nil {
		return head, err
	}
	return d.box.Head(ctx, d.recording.key)
}

// steer gives the run the first so many inputs that it read before a step: each once.
func (d *director) steer(ctx context.Context, number int, kind thread.InboxKind, n int) error {
	s := d.recording.steps[number]
	if s == nil {
		return nil
	}
	for ; d.heard[number] < min(n, len(s.inputs)); d.heard[number]++ {
		in := s.inputs[d.heard[number]]
		queued := thread.Queued{Dispatch: in.id, AgentID: d.recording.record.AgentID, Messages: in.messages, CreatedAt: d.recording.record.CreatedAt}
		_, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, thread.Input{ID: in.id, Kind: kind, Owner: d.owner}, d.inputRecord(queued))
		if err != nil {
			return err
		}
	}
	return nil
}

// interjected is the id of what interject says.
var interjected = core.ID{1}

// interject gives the run something that it will not read.
func (d *director) interject(ctx context.Context) error {
	_, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, thread.Input{ID: interjected, Kind: thread.InboxPerson, Owner: d.owner}, nil)
	return err
}

// next are the waits of a round that have not passed.
func (d *director) next(s *recordedStep) []wait { return s.waits[min(d.waited[s], len(s.waits)):] }

// due reports whether a call has its result by the next wait.
func (d *director) due(s *recordedStep, call int) bool {
	waits := d.next(s)
	return len(waits) == 0 || slices.Contains(waits[0].Merged, call)
}

// commitWait is called when the round is to wait. If the record has that wait, it is
// written, with the decisions until then. Else the round continued immediately: its
// tickets were decided while siblings still ran. The tickets are put up and decided, and
// the next claim continues.
func (d *director) commitWait(ctx context.Context, c thread.CommitStep, build func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c.Tickets = d.inOrder(c.Tickets)
	head, present, open, err := d.wouldWait(ctx, c, build)
	if err != nil {
		return head, thread.Result{}, err
	}
	s := d.recording.steps[int(head.Run.Step)]
	at := d.matching(s, present, open)
	early := d.settledNext(s, open) // what is decided before the write
	if at >= 0 {
		early = without(open, s.waits[at].Waits)
	}
	if now := s.within(open, d.next(s)); len(now) > 0 {
		at, early = -1, now
	}
	if len(early) > 0 {
		put := c
		if at < 0 && head.Run.Batch { // the others would hold back those that are decided: they ask again
			put = only(c, head, early)
		}
		if at < 0 {
			put = s.inTurn(put, head)
		}
		if err := d.putUp(ctx, put, build); err != nil {
			return head, thread.Result{}, err
		}
		decided, spoke, err := d.answerTickets(ctx, s, early)
		switch {
		case err != nil:
			return head, thread.Result{}, err
		case at < 0 && !decided && (spoke || len(head.Inbox) > 0): // the head makes no wait of it
			return d.box.Commit(ctx, d.recording.key, thread.Head{}, c, build)
		case at < 0 && !decided:
			return head, thread.Result{}, d.stuck(ctx, s, head)
		}
	}
	if at < 0 {
		return head, thread.Result{}, d.release(ctx, &head.Run.Through.May) // no tool runs: each has returned, or has only asked
	}
	d.waited[s] = at + 1
	if x := d.compareRounds(s, s.waits[at].RoundRecord, present); x != nil {
		d.differs(*x)
		return head, thread.Result{}, d.stop(ctx)
	}
	if err := d.withdraw(ctx, s.waits[at], open); err != nil {
		return head, thread.Result{}, err
	}
	head, result, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, c, build)
	if err == nil && head.Run.Status != thread.Waiting {
		err = d.decideBlocking(ctx, s, head)
	}
	return head, result, err
}

// decideBlocking decides about the call over which a gate has ended the run. Without it, the
// round would continue after the decision about another call, which was never run: the next
// claim knew of both decisions.
func (d *director) decideBlocking(ctx context.Context, s *recordedStep, head thread.Head) error {
	met := slices.ContainsFunc(head.Tickets, func(t thread.Ticket) bool {
		e := s.result(int(t.Call))
		return t.Decision != 0 && e != nil && e.Message.ToolResult.Status == core.ResultNotExecuted
	})
	if !met || s.tooLate || !s.blocked() {
		return nil
	}
	open := undecided(head.Tickets)
	_, _, err := d.answerTickets(ctx, s, without(open, keys(s.thatRan(open))))
	return err
}

// keys are the ids of tickets.
func keys(tickets []thread.Ticket) (ids []uint64) {
	for _, t := range tickets {
		ids = append(ids, t.ID)
	}
	return ids
}

// wouldWait returns the records of a wait: the round, and the undecided tickets.
func (d *director) wouldWait(ctx context.Context, c thread.CommitStep, build func(thread.Head, thread.Result) ([]store.Record, error)) (head thread.Head, present thread.RoundRecord, open []thread.Ticket, err error) {
	if head, err = d.box.Head(ctx, d.recording.key); err != nil {
		return head, present, nil, err
	}
	unspoken := head
	unspoken.Inbox = nil // with which the write would end the wait, and the tickets with it
	next, result, err := thread.Apply(unspoken, thread.Transition{Now: d.now, CommitID: core.ID{1}, Schemas: d.o.Records.Schemas, Change: c})
	if err != nil {
		return head, present, nil, err
	}
	records, err := build(next, result)
	if err == nil {
		present, err = d.roundOf(records)
	}
	return head, present, undecided(next.Tickets), err
}

// undecided are the tickets without a decision.
func undecided(tickets []thread.Ticket) []thread.Ticket {
	return slices.DeleteFunc(slices.Clone(tickets), func(t thread.Ticket) bool { return t.Decision != 0 })
}

// roundOf is the state of the round, from the records of a wait.
func (d *director) roundOf(records []store.Record) (present thread.RoundRecord, err error) {
	for _, r := range records {
		if strings.Contains(r.Name, "#round#") {
			return present, d.o.Records.Decode("round", r.Payload, &present)
		}
	}
	return present, fmt.Errorf("a wait without its round: %w", store.ErrCorrupt)
}

// matching is the index of the recorded wait that a round has reached; -1: none. A round
// whose claim continued immediately may have left two records of one sort: calls asked
// for more between them. The tickets of the second are not decided at the first.
func (d *director) matching(s *recordedStep, present thread.RoundRecord, tickets []thread.Ticket) int {
	for i := d.waited[s]; i < len(s.waits); i++ {
		w := s.waits[i]
		stand := !slices.ContainsFunc(w.Waits, func(id uint64) bool {
			return !slices.ContainsFunc(tickets, func(t thread.Ticket) bool { return t.ID == id })
		})
		later := slices.ContainsFunc(without(tickets, w.Waits), func(t thread.Ticket) bool {
			return slices.ContainsFunc(s.waits[i+1:], func(w wait) bool { return slices.Contains(w.Waits, t.ID) })
		})
		if stand && !later && same(w.Merged, present.Merged) {
			return i
		}
	}
	return -1
}

// same reports whether two lists have the same members.
func same(a, b []int) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// without leaves out the tickets of the ids.
func without(tickets []thread.Ticket, ids []uint64) []thread.Ticket {
	return slices.DeleteFunc(slices.Clone(tickets), func(t thread.Ticket) bool { return slices.Contains(ids, t.ID) })
}

// putUp puts a round's tickets in the head, while its claim continues.
func (d *director) putUp(ctx context.Context, c thread.CommitStep, build func(thread.Head, thread.Result) ([]store.Record, error)) error {
	change := thread.Suspend{Fence: c.Fence, Calls: c.Calls, Tickets: c.Tickets}
	_, _, err := d.box.Commit(ctx, d.recording.key, thread.Head{}, change, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		result.Outcome = thread.Yield
		records, err := build(next, result)
		records = slices.DeleteFunc(records, func(r store.Record) bool {
			return !strings.HasPrefix(r.Name, "C#") || strings.Contains(r.Name, "#round#")
		})
		for i := range records {
			records[i].Fence, records[i].Version = c.Fence, next.Version
		}
		return records, err
	})
	return err
}

// settledNext are those of the open tickets that were decided first: by the next wait
// that lacks any of them its calls have an outcome since, or else it is all that it
// lacks.
func (d *director) settledNext(s *recordedStep, open []thread.Ticket) []thread.Ticket {
	if ran := s.thatRan(open); s.blockedLast && len(ran) > 0 {
		open = ran
	}
	for _, w := range d.next(s) {
		gone := without(open, w.Waits)
		first := slices.DeleteFunc(slices.Clone(gone), func(t thread.Ticket) bool {
			call := int(t.Call)
			return !slices.Contains(w.Merged, call) && s.ticket(t) == len(s.asked[call])-1
		})
		if len(first) > 0 {
			return s.soonest(first)
		}
		if len(gone) > 0 {
			return gone
		}
	}
	return open
}

// thatRan leaves out the tickets of calls that a gate has blocked.
func (s *recordedStep) thatRan(tickets []thread.Ticket) []thread.Ticket {
	return slices.DeleteFunc(slices.Clone(tickets), func(t thread.Ticket) bool {
		e := s.result(int(t.Call))
		return e != nil && e.Message.ToolResult.Status == core.ResultBlocked
	})
}

// ticket is the index of a ticket among those that its call had; -1: it had no such.
func (s *recordedStep) ticket(t thread.Ticket) int {
	return slices.IndexFunc(s.asked[int(t.Call)], func(k thread.TicketRecord) bool { return thread.TicketKey(s.run, k.Suspension.ID) == t.ID })
}

// endWait does what ended the wait of a run: decisions, or what a person said.
func (d *director) endWait(ctx context.Context, head thread.Head, s *recordedStep) error {
	open := undecided(head.Tickets)
	for len(open) > 0 && head.Run.Status == thread.Waiting { // a batch continues when all are decided
		now := d.settledNext(s, open)
		if _, _, err := d.answerTickets(ctx, s, now); err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(t thread.Ticket) bool { return slices.Contains(now, t) })
		if !head.Run.Batch {
			open = nil
		}
		var err error
		if head, err = d.box.Head(ctx, d.recording.key); err != nil {
			return err
		}
	}
	if head.Run.Status != thread.Waiting {
		return nil
	}
	if !d.closesIn(s) {
		return d.stuck(ctx, s, head)
	}
	// In every case the tickets of the run end with it: as if a person had sent a
	// message.
	d.closes = true
	if err := d.putResults(ctx, head, s, func(*thread.Entry, int) bool { return true }); err != nil {
		return err
	}
	return d.rouse(ctx, s, head)
}

// rouse ends every wait of a round whose run was ended from outside: those that no input ends,
// for children and of kept timers, by a decision.
func (d *director) rouse(ctx context.Context, s *recordedStep, head thread.Head) error {
	for _, t := range undecided(head.Tickets) {
		n := s.ticket(t)
		if !lasts(t) || n < 0 {
			continue
		}
		ticket := s.asked[int(t.Call)][n].Ticket
		over := thread.DecisionRecord{Decision: core.Decision{ID: "over", Action: core.DecisionCancel}, Suspension: ticket.Suspension.ID}
		if err := d.decide(ctx, s, t, ticket, over); err != nil {
			return err
		}
	}
	return d.interject(ctx)
}

// stuck is called when the round waits and the record does not have the end of the wait:
// the record ends there, or the run was closed, or the call did not wait.
func (d *director) stuck(ctx context.Context, s *recordedStep, head thread.Head) error {
	d.over = true
	if d.closesIn(s) {
		d.over, d.closes = false, true
		return d.giveBack(ctx)
	}
	for _, t := range head.Tickets {
		result := s.result(int(t.Call))
		if result == nil || t.Decision != 0 {
			continue
		}
		switch status := result.Message.ToolResult.Status; {
		case status == core.ResultUnknown, status == core.ResultNotExecuted && s.blocked():
			d.untold = true // it waited, or was about to, and was cut off: the time is not recorded
		default:
			d.differs(Difference{
				Step: d.number, Seq: s.seq + 1 + uint64(t.Call), Where: WhereLog, Field: "message.tool_result", By: "gates and tools",
				Recorded: encode(result.Message.ToolResult), Present: "the call waits for a decision",
			})
		}
	}
	if head.Claim.Fence == 0 {
		return nil
	}
	return d.giveBack(ctx)
}

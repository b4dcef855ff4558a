package run

import (
	"slices"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Two writes make a wait known: suspendWrite while calls of the round still run, and
// waitWrite, which ends the step when none does. Both propose; Apply decides which calls
// find a place, and whether there is still something to wait for (thread.Suspend,
// thread.CommitStep with the outcome Wait).

// callPart is the state in which a write leaves the calls of the open round. It is
// made once, and not for every head that the write meets: the round is the step's
// alone, and Apply merges the changes of decisions in between.
type callPart struct {
	calls   []thread.CallStatus
	tickets []thread.Ticket
	asked   []store.Record // of the tickets: every reader of the head can read them
	adopted uint16         // the highest schema of the results that were met in the log
	through *uint32        // see thread.Suspend
}

// suspendWrite makes known how far the round is while calls of it still run: tickets can be
// decided from then on, and of a marked call a claim that finds no result knows only that it
// may have run.
type suspendWrite struct{ round callPart }

// change implements write.
func (w *suspendWrite) change(fence uint64) thread.Change {
	return thread.Suspend{Fence: fence, Calls: w.round.calls, Tickets: w.round.tickets, Schema: w.round.adopted, Through: w.round.through}
}

// records implements write.
func (w *suspendWrite) records(p *plan, _ thread.Head, _ thread.Result) {
	p.records = slices.Clone(w.round.asked)
}

// waitWrite ends the step while calls wait for decisions. Nothing of the log becomes
// visible, since the places of the results are not all taken: the tickets, the round's
// values and, if there is still something to wait for, R# are all that it stores.
type waitWrite struct {
	round    callPart
	run      runPart
	open     thread.RoundRecord // without its fence and what it waits for, which the head says
	seq      uint64             // of the log's newest record
	lacks    bool
	keep     bool
	lease    int64 // milliseconds
	followed int64
	crowded  bool // a call had no place for its ticket before this write
}

// change implements write.
func (w *waitWrite) change(fence uint64) thread.Change {
	return thread.CommitStep{
		Fence: fence, From: w.seq, Seq: w.seq, Outcome: thread.Wait, Calls: w.round.calls, Tickets: w.round.tickets, Round: true, Through: w.round.through,
		Schema: w.round.adopted, Lacks: w.lacks, Lease: w.lease, Keep: w.keep, Followed: w.followed,
		Crowded: w.crowded,
	}
}

// records implements write.
func (w *waitWrite) records(p *plan, next thread.Head, result thread.Result) {
	p.records, p.run = slices.Clone(w.round.asked), w.run.before
	p.add(w.values(next))
	if result.Outcome != thread.Wait { // it continues immediately: the run's record need not have the wait
		return
	}
	p.run = w.run.record(next, result)
	w.run.addAccount(p, next, result)
	w.run.addTo(p, next, result.Outcome, p.run)
}

// values is the record of the round's state: the claim that continues the round
// starts from these values, and merges only later results. It is stored with every
// wait, also when nothing was merged: a stream of the events after a decision finds
// by its open tickets where the wait was.
func (w *waitWrite) values(next thread.Head) (store.Record, error) {
	record := w.open
	record.Fence = next.Fence // the claim's: it has taken the newest
	for _, t := range next.Tickets {
		if undecided(t) {
			record.Waits = append(record.Waits, t.ID)
		}
	}
	payload, err := w.run.codec.Encode("round", record)
	return store.Record{Name: recordname.Round(w.run.before.ID, next.Version), Payload: payload}, err
}

func undecided(t thread.Ticket) bool { return t.Decision == 0 }

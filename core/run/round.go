package run

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/run/checkpoint"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// round is the tool round of the committed turn, as this claim knows it. It is
// the step's own goroutine's: a call that runs reports to the scheduler and
// touches nothing here. What it merges goes into the draft, which the commit that
// closes the round makes records of; what it stores before that are single results.
type round struct {
	holder  *holder
	base    *base
	draft   *draft
	turn    core.Message
	first   uint64 // sequence of the first result
	began   int64  // the clock that gates and tools are shown: when this claim began the round, unix milliseconds
	mode    agent.ExecutionMode
	at      int                           // place of the turn in before
	before  checkpoint.List[core.Message] // the conversation up to the turn: results are shown behind it, in order
	shown   int                           // so many of them stand there already
	calls   []call
	merged  int            // so many of them are in the draft's state
	line    line           // what the results that are not merged have come to, in a parallel round
	waited  uint64         // fence of the claim with which the round waited last; 0: it did not
	found   bool           // what earlier claims may have let through is known
	through thread.Through // of the calls without a result: see findThrough
	schema  uint16         // the highest of the results that were met in the log: another program may have written them
}

// newRound is the round of a committed turn, of which nothing is known yet. first is the
// sequence of its first result.
func newRound(h *holder, b *base, d *draft, turn core.Message, first uint64) *round {
	return &round{
		holder: h, base: b, draft: d, turn: turn, first: first, began: h.env.Millis(),
		at: d.messages.Len() - 1, before: d.messages, calls: make([]call, len(turn.ToolCalls)),
	}
}

// goOnFrom keeps what a round of the same step knew of the turn's calls that the
// store cannot tell: what was announced, and whose tools were cut short. A close
// makes the round again from the store, since what counts is there.
func (r *round) goOnFrom(before *round) {
	if before == nil || before.first != r.first {
		return
	}
	for i := range before.calls {
		c, mine := &before.calls[i], &r.calls[i]
		if mine.told = c.told; c.hasBegun() {
			mine.stage = c.stage
		} else if c.stage == concluded && c.task != nil { // until its result is found
			mine.stage = running
		}
	}
	r.found, r.through = before.found, before.through
}

// open reports whether a call has no result yet. A round that is open when nothing
// runs waits for decisions.
func (r *round) open() bool { return r.any(func(c *call) bool { return c.stage != concluded }) }

// failed reports whether the round, which is whole, has failed.
func (r *round) failed() bool {
	var round thread.Outcomes
	for i := range r.calls {
		round.Add(r.calls[i].result.entry.Message.ToolResult)
	}
	return round.Failed()
}

// earlier is the conversation before the turn.
func (r *round) earlier() []core.Message { return r.before.First(max(0, r.at)).Slice() }

// blocked is the index of the first call that a gate ended the run over; -1: none.
func (r *round) blocked() int {
	return r.index(func(c *call) bool {
		return c.stage == concluded && c.result.entry.Message.ToolResult.Status == core.ResultBlocked
	})
}

// logRecord is the log record of a result.
func (r *round) logRecord(i int) store.Record {
	return store.Record{Name: store.LogName(r.first + uint64(i)), Payload: r.calls[i].result.payload}
}

// announce notes where a result is stored and announces it, once. A position says that
// everything before it was shown, so a result after a call that has none yet is
// announced without one: a reader that comes back gets it again. Results
// that the head marked done when the step began were announced by the claim that moved
// them there.
func (r *round) announce(i int, at where) {
	c := &r.calls[i]
	if c.result.where = max(c.result.where, at); c.told {
		return
	}
	c.told = true
	if slices.ContainsFunc(r.calls[:i], func(c call) bool { return !c.stored() }) {
		r.holder.events.ResultUnplaced(c.result.entry)
		return
	}
	r.holder.events.Result(c.result.entry, len(r.turn.Content)+i)
}

// allStored announces what a commit has made visible.
func (r *round) allStored() {
	for i := range r.calls {
		if r.calls[i].stage == concluded {
			r.announce(i, done)
		}
	}
}

// end is how the run ends after the round; nil: it goes on.
func (r *round) end() *core.Termination {
	i := r.blocked()
	if i < 0 {
		return nil
	}
	return &core.Termination{Type: core.TerminationBlocked, Detail: r.calls[i].result.entry.Blocked}
}

// timeOf is when something about a call of the round happened: a kind of [Instant], the
// call's index, and how many of its suspensions were decided before.
func (r *round) timeOf(kind InstantKind, i, decided int) int64 {
	return r.holder.s.choices.Time(Instant{Kind: kind, Run: r.holder.id, Step: r.holder.events.Step(), Call: i, Decided: decided, Round: r.began})
}

// any reports whether a call of the round is as f says.
func (r *round) any(f func(c *call) bool) bool { return r.index(f) >= 0 }

// index is the index of the first call that is as f says; -1: none is.
func (r *round) index(f func(c *call) bool) int {
	for i := range r.calls {
		if f(&r.calls[i]) {
			return i
		}
	}
	return -1
}

// statuses are the calls as a write leaves them, from what the head says: a result that is
// stored makes its call done. One that is only in memory does not, since a done call must be
// readable by anyone who sees the head. With hooks only one that AfterToolExecute has seen
// does: what the hook asks for runs with the write that makes the call done, and would be
// lost if that came first. progress reports whether this claim stored a result
// that is not done yet for it.
func (r *round) statuses(calls []thread.CallStatus) (next []thread.CallStatus, progress bool) {
	next = slices.Clone(calls)
	hooks := r.hooked()
	for i := range r.calls {
		c := &r.calls[i]
		switch {
		case !c.stored():
		case hooks && !c.merged() || r.untried(i):
			progress = progress || c.result.where == put && next[i] != thread.CallDone
		default:
			next[i] = thread.CallDone
		}
	}
	return next, progress
}

// concluded reports whether a call has come to a result that the head does not
// say it has.
func (r *round) concluded(calls []thread.CallStatus) bool {
	for i := range r.calls {
		if r.calls[i].stage == concluded && calls[i] != thread.CallDone {
			return true
		}
	}
	return false
}

package run

import (
	"context"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// round is this claim's knowledge of the calls of the committed turn: how far each
// is, and the fate of its result. It stores results and announces them. It does not
// know the values that bring a call further (gates, tickets, line, merger,
// scheduler): each of them names the round, and writes the outcome of a call into
// its calls.
//
// It belongs to the step's own goroutine: a call that runs reports to the scheduler
// and touches nothing here. The methods that every write calls (storeResults,
// schemaMet, letThrough, callEffects) may be called on a nil round, and do nothing
// then.
type round struct {
	holder *holder
	base   *base
	draft  *draft
	turn   core.Message
	first  uint64 // sequence of the first result
	began  int64  // the clock that gates and tools are shown: when this claim began the round, unix milliseconds
	mode   agent.ExecutionMode
	calls  calls
	schema uint16 // the highest of the results that were met in the log: another program may have written them

	kin kin // for the children of the calls

	found   bool           // what earlier claims may have let through is known
	through thread.Through // of the calls without a result: see findThrough
}

// goOnFrom keeps what a round of the same step knew of the turn's calls that the
// store cannot tell: what was announced, and whose tools were cut short. A close
// makes the round again from the store, since what counts is there. before is nil where
// none was known.
func (r *round) goOnFrom(before *round) {
	if before == nil { // else it is of the same turn: a step works on one round
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

// chooseMode sets how the round runs. An agent may be given another mode while a round
// of it waits, and what the head says counts then: it decides when the run is
// woken, and a scheduler that waits for something else would be woken for
// nothing, for ever. The agent is known.
func (r *round) chooseMode() {
	r.mode = r.base.agent.Spec.Mode()
	if r.holder.head.Run.Batch {
		r.mode = agent.ParallelBatchApproval
		return
	}
	waits := slices.Index(r.holder.head.Run.Calls, thread.CallSuspended)
	behind := waits >= 0 && slices.ContainsFunc(r.holder.head.Run.Calls[waits:], decided)
	if r.mode == agent.ParallelBatchApproval || behind {
		r.mode = agent.ParallelStreaming
	}
}

// decided reports whether a call that waited is to go on, or to end.
func decided(s thread.CallStatus) bool {
	return s == thread.CallResuming || s == thread.CallCancelling
}

// lined reports whether the results of the round form a line, see line. Without an
// agent, in a close, the meaning of the keys that they change is unknown.
func (r *round) lined() bool {
	return r.base.agent != nil && r.mode != agent.Sequential
}

// hooked reports whether results wait for AfterToolExecute.
func (r *round) hooked() bool { return r.base.hooks.listens(core.PhaseAfterToolExecute) }

// untried reports whether the result of call i is still to be tried on the changes
// of siblings: it is stored, and has no place.
func (r *round) untried(i int) bool {
	entry := r.calls[i].result.entry
	return r.lined() && changesState(entry) && entry.Place == 0
}

// timeOf is when something about a call of the round happened: a kind of [Instant], the
// call's index, and how many of its suspensions were decided before.
func (r *round) timeOf(kind InstantKind, i, decided int) int64 {
	return r.holder.s.choices.Time(Instant{Kind: kind, Run: r.holder.id, Step: r.holder.events.Step(), Call: i, Decided: decided, Round: r.began})
}

// task is call i at the start of its way to its tool.
func (r *round) task(i int) *task {
	return &task{index: i, at: r.timeOf(InstantAsked, i, 0), call: r.turn.ToolCalls[i], snapshot: r.draft.snapshot, began: r.draft.snapshot.Revision()}
}

// key is the call's idempotency key: run, sequence of the turn, index. Provider
// call ids can be missing or repeat within a thread; a sequence permanently holds
// one turn, and all claims run the same calls.
func (r *round) key(i int) string {
	var room [80]byte
	b := strconv.AppendUint(append(r.holder.id.AppendTo(room[:0]), '/'), r.first-1, 10)
	return string(strconv.AppendInt(append(b, '/'), int64(i), 10))
}

// logRecord is the log record of a result.
func (r *round) logRecord(i int) store.Record {
	return store.Record{Name: store.LogName(r.first + uint64(i)), Payload: r.calls[i].result.payload}
}

// announce notes where a result is stored and announces it, once. A position means
// that everything before it was shown, so a result after a call that has none yet
// is announced without one: a reader that reconnects gets it again. Results that
// the head marked done when the step started were announced by the claim that moved
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
			r.announce(i, safe)
		}
	}
}

// statuses are the calls as a write leaves them, from what the head says: a result that is
// stored makes its call done. One that is only in memory does not, since a done call must be
// readable by anyone who sees the head. With hooks only one that AfterToolExecute has seen
// does: what the hook asks for runs with the write that makes the call done, and would be
// lost if that came first. progress reports whether this claim stored a result
// that is not done yet for it.
func (r *round) statuses(calls []thread.CallStatus) (next []thread.CallStatus, progress bool) {
	next = slices.Clone(calls)
	if len(calls) == 0 { // the head is past the round
		return next, false
	}
	hooks := r.hooked()
	for i := range r.calls {
		c := &r.calls[i]
		switch {
		case !c.stored():
		case hooks && !c.merged() || r.untried(i):
			progress = progress || c.result.where == put
		default:
			next[i] = thread.CallDone
		}
	}
	return next, progress
}

// schemaMet is the highest schema of the results that this claim has met in the
// log, 0 when it met none: the head must have it, so that a program which cannot
// read them does not claim the thread. One that is too new for this program goes
// into the nack.
func (r *round) schemaMet() uint16 {
	if r == nil {
		return 0
	}
	return r.schema
}

// addResults puts the results into the draft's records, in the order of the log.
// Every call has one.
func (r *round) addResults() {
	for i := range r.calls {
		r.draft.entries = append(r.draft.entries, *r.calls[i].result.entry)
	}
}

// calledWith is call i with the arguments that its tool received: a person's, if its
// result says that a decision set them.
func (r *round) calledWith(i int) core.ToolCall {
	call := r.turn.ToolCalls[i]
	if e := r.calls[i].result.entry; e != nil && e.Arguments != nil {
		call.Arguments = e.Arguments
	}
	return call
}

// complainOf logs that a request of a stored result could not be applied.
func (r *round) complainOf(ctx context.Context, i int, err error) {
	call := r.turn.ToolCalls[i]
	r.holder.complain(ctx, "requests of a call cannot be applied", slices.Concat([]any{"call", call.ID, "tool", call.Name}, failure(err))...)
}

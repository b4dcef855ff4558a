package run

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/run/checkpoint"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// round is the tool round of the committed turn, as this claim knows it. It is
// the step's own goroutine's: a call that runs reports to the scheduler and
// touches nothing here. What it merges goes into the draft, which the commit that
// closes the round makes records of; what it stores before that are single results.
type round struct {
	*draft
	turn   core.Message
	base   uint64 // sequence of the first result
	began  int64  // the clock that gates and tools are shown: when this claim began the round, unix milliseconds
	mode   agent.ExecutionMode
	at     int                           // place of the turn in before
	before checkpoint.List[core.Message] // the conversation up to the turn: results are shown behind it, in order
	shown  int                           // so many of them stand there already
	calls  []*openCall
	merged []int  // calls that the draft's state contains, in the order in which they came
	line   line   // what the results that are not merged have come to, in a parallel round
	waited uint64 // fence of the claim with which the round waited last; 0: it did not
	found  bool   // what earlier claims may have let through is known
	schema uint16 // the highest of the results that were met in the log: another program may have written them
}

// openCall is one call of the round on its way to its result:
//
//	open -> checked -> gated -> (suspended <-> decided) -> running -> stored
//
// The head's status says where it stood when the head was last written; what
// follows is what this claim has made of it since. The two meet in statuses, which
// says with every write how far the calls are: nothing that the head says is taken
// back, but a call whose result is not stored yet is not called done either.
type openCall struct {
	task   *task   // its gates have let it through; nil before
	ticket *ticket // what it is to wait for, until the head has it
	// crowded: it was to wait and found no place among the tickets. Its gates are
	// asked again when there is one.
	crowded bool
	begun   bool // its tool was started, and has neither a result nor a ticket: whether it acted is not known
	through bool // an earlier claim may have started its tool: without a result its outcome is not known
	ran     bool // likewise, and no gate that is asked again says that it has not
	fatal   bool // its tool has ended the run

	entry   *thread.Entry  // its result; nil while it has none
	payload []byte         // of entry, as it is, or will be, stored
	stored  bool           // readable under this claim's fence, or marked done in the head
	fresh   bool           // stored by this claim's own put, not adopted
	told    bool           // its result was announced, by this claim or by one before it
	merged  bool           // the draft has what it changed, AfterToolExecute included
	effects []state.Effect // what AfterToolExecute asked for
	held    *conclusion    // its result, which is not its turn yet: see hold
}

// newRound is the round of a committed turn, of which nothing is known yet. Calls
// are allocated together: all of them live until the round is over.
func (d *draft) newRound(turn core.Message, base uint64) *round {
	r := &round{draft: d, at: d.messages.Len() - 1, before: d.messages, turn: turn, base: base, began: d.env.Millis(), calls: make([]*openCall, len(turn.ToolCalls))}
	calls := make([]openCall, len(r.calls))
	for i := range r.calls {
		r.calls[i] = &calls[i]
	}
	return r
}

// takeOver keeps what a round of the same step knew of the turn's calls that the
// store cannot tell: what was announced, and whose tools were cut short. A close
// makes the round anew from the store, since what counts lies there.
//
// It reports whether that round knew what earlier claims may have let through.
func (r *round) takeOver(before *round) (known bool) {
	if before == nil || before.base != r.base {
		return false
	}
	for i, c := range before.calls {
		mine := r.calls[i]
		mine.told, mine.begun, mine.through, mine.ran, mine.fatal = c.told, c.begun, c.through, c.ran, c.fatal
	}
	return before.found
}

// open reports whether a call has no result yet. A round that is open when nothing
// runs waits for decisions.
func (r *round) open() bool {
	return slices.ContainsFunc(r.calls, func(c *openCall) bool { return c.entry == nil })
}

// failed reports whether the round, which is whole, has failed.
func (r *round) failed() bool {
	var round thread.Outcomes
	for _, c := range r.calls {
		round.Add(c.entry.Message.ToolResult)
	}
	return round.Failed()
}

// earlier is the conversation before the turn.
func (r *round) earlier() []core.Message { return r.before.First(max(0, r.at)).Slice() }

// blocked is the index of the first call that a gate ended the run over; -1: none.
func (r *round) blocked() int {
	return slices.IndexFunc(r.calls, func(c *openCall) bool {
		return c.entry != nil && c.entry.Message.ToolResult.Status == core.ResultBlocked
	})
}

// logRecord is the log record of a result.
func (r *round) logRecord(i int) store.Record {
	return store.Record{Name: store.LogName(r.base + uint64(i)), Payload: r.calls[i].payload}
}

// addUnstored adds the records of results that no put has stored, in the order of the log:
// they travel with the write that closes the round. Every call has its result by then. from
// is the sequence of the turn.
func addUnstored(records []store.Record, from uint64, calls []*openCall) []store.Record {
	for i, c := range calls {
		if !c.stored {
			records = append(records, store.Record{Name: store.LogName(from + 1 + uint64(i)), Payload: c.payload})
		}
	}
	return records
}

// tell marks a result as stored and announces it, once. A position says that
// everything before it was shown, so a result behind a call that has none yet is
// announced without one: a reader that comes back gets it again. Results
// that the head marked done when the step began were announced by whoever moved
// them there.
func (r *round) tell(i int) {
	c := r.calls[i]
	if c.stored = true; c.told {
		return
	}
	c.told = true
	if slices.ContainsFunc(r.calls[:i], func(c *openCall) bool { return !c.stored }) {
		r.events.ResultUnplaced(c.entry)
		return
	}
	r.events.Result(c.entry, len(r.turn.Content)+i)
}

// allStored announces what a commit has made visible.
func (r *round) allStored() {
	for i, c := range r.calls {
		if c.entry != nil {
			r.tell(i)
		}
	}
}

// statuses are the calls as the step leaves them: a result that is stored makes
// its call done. One that is only in memory does not, since a done call must be
// readable by anyone who sees the head. With hooks only one that AfterToolExecute has seen does: what
// the hook asks for runs with the write that makes the call done, and would be
// lost if that came first. progress reports whether this claim stored a result
// that is left out for it.
func (r *round) statuses(calls []thread.CallStatus) (left []thread.CallStatus, progress bool) {
	left = slices.Clone(calls)
	hooks := r.hooked()
	for i, c := range r.calls {
		switch {
		case !c.stored:
		case hooks && !c.merged || r.untried(i):
			progress = progress || c.fresh && left[i] != thread.CallDone
		default:
			left[i] = thread.CallDone
		}
	}
	return left, progress
}

// concluded reports whether a call has come to a result that the head does not
// say it has.
func (r *round) concluded(calls []thread.CallStatus) bool {
	for i, c := range r.calls {
		if c.entry != nil && calls[i] != thread.CallDone {
			return true
		}
	}
	return false
}

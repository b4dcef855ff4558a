package run

import (
	"github.com/reveille-run/reveille/core/internal/thread"
)

// stepWrite is commit B: the head moves over the results and the step record, and
// hands the run on. The head's outcome counts, see [thread.CommitStep]: input may
// have come after the model's last look, and a listener of RunEnd turns an end into
// a close. The run's record has that outcome.
type stepWrite struct {
	log      logPart // the results of calls first
	calls    []call  // of the round; nil: no round
	run      runPart
	done     []thread.CallStatus // of calls, all of them done
	lease    int64               // milliseconds
	followed int64               // see thread.CommitStep
	adopted  uint16              // the highest schema of its results
	recorded bool                // the run's record is stored; it is written again when the run ends, closes or waits
	natural  bool                // unread input makes the run go on
	listens  bool                // a plugin wants to know of the run's end
	lacks    bool
	keep     bool // the claim continues after the write
}

// change implements write.
func (w *stepWrite) change(fence uint64) thread.Change {
	asked := thread.Yield
	if w.run.end != nil {
		asked = thread.Done
	}
	return thread.CommitStep{
		Fence: fence, From: w.log.from, Outcome: asked, Natural: w.natural, Listens: w.listens,
		Seq: w.log.seq(), Sum: w.log.seal(w.calls), Calls: w.done, Consumed: w.log.consumed, Cut: w.log.cut,
		Summary: w.log.summary, Schema: max(w.log.schema, w.adopted), Lacks: w.lacks, Lease: w.lease, Keep: w.keep,
		Followed: w.followed,
	}
}

// records implements write. The run's record is written at its start, wait and end alone:
// its steps and usage between them follow from the turns, which carry the totals.
func (w *stepWrite) records(p *plan, next thread.Head, result thread.Result) {
	w.log.addTo(p)
	p.records, p.run = addUnstored(p.records, w.log.from, w.calls), w.run.before
	if result.Outcome != thread.Done && result.Outcome != thread.Close && w.recorded {
		return
	}
	p.run = w.run.record(next, result)
	w.run.addAccount(p, next, result)
	w.run.addTo(p, next, result.Outcome, w.run.stored(p.run, next.Closing))
}

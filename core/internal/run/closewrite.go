package run

import (
	"github.com/reveille-run/reveille/core/internal/thread"
)

// failWrite is the first write of a run that fails. It makes the run closing, or ends it
// where the end owes nothing more: no call is open, and no plugin listens to RunEnd. The log
// does not move over an open round: the close takes what its calls have changed.
type failWrite struct {
	log     logPart // the run's own input, if it has not started; nothing of an open round
	run     runPart
	inRound bool // a round is open
	listens bool
	adopted uint16 // the highest schema of the round's results
	through *uint32
}

// change implements write.
func (w *failWrite) change(fence uint64) thread.Change {
	return thread.CommitStep{
		Fence: fence, From: w.log.from, Outcome: thread.Done, Listens: w.inRound || w.listens, Seq: w.log.seq(), Sum: w.log.seal(nil), Summary: w.log.summary,
		Cut: w.log.cut, Schema: max(w.log.schema, w.adopted), Through: w.through,
	}
}

// records implements write.
func (w *failWrite) records(p *plan, next thread.Head, result thread.Result) {
	w.log.addTo(p)
	p.run = w.run.record(next, result)
	p.run.InRound = w.inRound
	w.run.addAccount(p, next, result)
	w.run.addTo(p, next, result.Outcome, w.run.stored(p.run, next.Closing))
}

// closeWrite makes an end final: results first, then the last words and the changes
// of RunEnd, and the run's record. From it on the head has no run.
type closeWrite struct {
	log     logPart // the results of calls first
	calls   []call  // of the open round; nil: no round is open
	run     runPart // before is the record as it is stored
	adopted uint16  // the highest schema of the round's results
}

// change implements write.
func (w *closeWrite) change(fence uint64) thread.Change {
	return thread.CommitClose{
		Fence: fence, From: w.log.from, Seq: w.log.seq(), Sum: w.log.seal(w.calls), Summary: w.log.summary, Cut: w.log.cut, Schema: max(w.log.schema, w.adopted),
	}
}

// records implements write.
func (w *closeWrite) records(p *plan, next thread.Head, result thread.Result) {
	w.log.addTo(p)
	p.run = w.run.before
	w.run.addAccount(p, next, result)
	p.records = addUnstored(p.records, w.log.from, w.calls)
	w.run.addTo(p, next, thread.Done, w.run.stored(p.run, next.Closing))
}

package run

import (
	"github.com/reveille-run/reveille/core/internal/thread"
)

// turnWrite is commit A: the turn, and the input before it, become visible, and the
// sequences of its results are reserved.
type turnWrite struct {
	log       logPart
	run       *thread.RunRecord // of a run that has none yet: a takeover must find whose run it is; nil: it is stored
	calls     int               // of the turn
	turnFence uint64            // of the inference that the turn came from: its events keep it
	batch     bool              // decisions about its calls count when all are there
	lacks     bool              // see thread.CommitTurn
}

// change implements write.
func (w *turnWrite) change(fence uint64) thread.Change {
	return thread.CommitTurn{
		Fence: fence, From: w.log.from, Seq: w.log.seq(), Sum: w.log.seal(nil), Calls: w.calls, TurnFence: w.turnFence, Consumed: w.log.consumed, Cut: w.log.cut,
		Summary: w.log.summary, Schema: w.log.schema, Batch: w.batch, Lacks: w.lacks,
	}
}

// records implements write.
func (w *turnWrite) records(p *plan, _ thread.Head, _ thread.Result) {
	if w.log.addTo(p); w.run != nil {
		p.add(encodeRun(w.log.codec, w.run))
	}
}

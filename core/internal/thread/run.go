package thread

import (
	"math"

	"github.com/reveille-run/reveille/core"
)

// Cursor is the place of the open run within its step.
type Cursor uint8

// The cursors.
const (
	CursorStart Cursor = iota // nothing done yet: RunStart comes next
	CursorInfer               // an inference comes next
	CursorTools               // the turn is committed, its tool round is open
)

// Status of the open run.
type Status uint8

// The statuses. A closing run only waits for its closing records; readers see
// it as done.
const (
	Running Status = iota
	Waiting
	Closing
)

// Reason is why a run is closing.
type Reason uint8

// The reasons.
const (
	ReasonNone Reason = iota
	ReasonOwn         // an end that its step reached: the run record's ending has it
	ReasonCancelled
	ReasonSuperseded // by an interrupt
	ReasonExpired    // a ticket's deadline passed
	ReasonDeadLetter // MaxAttempts claims without progress
)

// Run is the head's part of the open run; the run's record, which readers get, is a
// [core.Run]. Exactly one of these holds: a claim has it, it is ready (see
// [Head.Ready]), or it is Waiting, for a ticket without a decision.
type Run struct {
	ID        core.ID
	Dispatch  core.ID // that brought it; its queued input is Q#<dispatch>#<revision>
	Revision  uint32  // of its queued input
	Status    Status
	Reason    Reason // of Closing
	Cursor    Cursor
	Step      uint32 // steps started and committed
	Base      uint64 // sequence reserved for the result of call 0
	TurnFence uint64 // fence that the inference of the committed turn ran under
	Calls     []CallStatus
	Batch     bool    // it stays Waiting until every ticket is decided
	Round     uint64  // version of the head that put the open round's record in force; 0: none
	Child     bool    // a run of another thread waits for its end: see [RunRecord].Parent
	Through   Through // calls of the open round that may have been let through without a result
	// WaitsSince is since when the run has had a ticket that a person or a client
	// decides, in unix milliseconds, whether or not other calls of the round still run;
	// 0: it has none. It stays the same while such tickets come and go. Backends keep an
	// index of it, so that a tenant's tickets are found.
	WaitsSince int64
	// LacksSince is the time since when the run waits for another build, in unix
	// milliseconds: when one first released it because it lacks a part of its agent.
	// 0: no build has, or one that has everything has taken the run on since. It is
	// in the head, so that builds which know nothing of each other agree on how long
	// that is.
	LacksSince int64
	// RunEnd is the version of the head that put the [EndRecord] in force; 0: RunEnd has
	// not run, or under a claim that was lost.
	RunEnd  uint64
	Stretch Stretch // since the last wait; zero Since: no claim that meters has had the run
	// Children are the runs of other threads that the run has started and that are not
	// over, at most MaxChildren: see [AddChild]. They are void with the run, which leaves
	// them a cancel.
	Children []core.ID

	// The continuation: the run's own next delivery. It is not a pending dispatch and
	// takes none of their places.
	AvailableAt int64 // 0: at once
	//
	// Attempts are counted when a claim is taken and nowhere else. Progress resets
	// them: a turn, a step, a newly done call, a new ticket, a decision, and the
	// start of closing, which has a separate count.
	Attempts    uint8 // claims since the last progress, the present one included
	Lost        uint8 // claims lost in the whole run; progress does not reset it
	ModelFailed uint8 // model calls that failed since the last progress
	ModelLost   uint8 // claims lost before a turn of the model was committed, since the last progress
}

// progress notes that the run got further: what failed before does not count
// any more.
func (r *Run) progress() { r.Attempts, r.ModelFailed, r.ModelLost = 0, 0, 0 }

// resume makes a waiting run claimable.
func (r *Run) resume() {
	r.Status, r.AvailableAt = Running, 0
	r.progress()
}

// uncount takes the standing claim's attempt back, unless progress has done so.
func (r *Run) uncount() {
	if r.Attempts > 0 {
		r.Attempts--
	}
}

// noteWaits keeps WaitsSince: the time of the first ticket that asks, until none is left.
func (r *Run) noteWaits(asks bool, now int64) {
	switch {
	case !asks:
		r.WaitsSince = 0
	case r.WaitsSince == 0:
		r.WaitsSince = max(now, 1)
	}
}

// noteLacks notes that a build has given the run back for what it lacks of its
// agent, the first time.
func (r *Run) noteLacks(now int64) {
	if r.LacksSince == 0 {
		r.LacksSince = max(now, 1)
	}
}

// noteTakenOn forgets that the run waited for another build, when one takes it on
// that has everything. A build that continues without, because the waiting time was
// over, keeps it: no build waits again.
func (r *Run) noteTakenOn(lacks bool) {
	if !lacks {
		r.LacksSince = 0
	}
}

// oneMore counts up, but never around.
func oneMore(n uint8) uint8 {
	if n == math.MaxUint8 {
		return n
	}
	return n + 1
}

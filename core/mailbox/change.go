package mailbox

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// ids are the ids of the run that a submission opens, and of the dispatch that brings it.
type ids struct{ run, dispatch core.ID }

// placing is how a submission meets a thread, in addition to its own fields.
type placing struct {
	// inline means that the caller takes the steps: the write also claims the run if the thread
	// is free.
	inline bool
	// apart means that the input opens a separate run, even if a run waits for a reply.
	apart bool
	// start is the earliest time at which the run may start, unix milliseconds; 0:
	// immediately.
	start int64
	// message makes the input that of another thread's message, under these ids: the open run
	// reads it at its next step, and a run that waits goes on waiting. With Submission.Into no
	// other run reads it. nil: it is not a message.
	message *ids
	// known is the thread's head, which the caller has read; nil: it is to be read.
	known *thread.Head
	// worker and lease are those of the claim of an inline submission.
	worker string
	lease  time.Duration
	// stored is where the claimed run's input goes, if its record has the very same value; nil:
	// the caller does not need it.
	stored *thread.Queued
}

// change chooses what a submission does to a thread, from the head that it is tried on: it
// interrupts, goes to the inbox of the open run, is claimed at once, or is enqueued. It is
// called again for every head, since the run that was to read the input may end or start to
// wait between two attempts. now is in unix milliseconds. It reads no clock and no store.
func change(in *Submission, p placing, ids ids, head *thread.Head, now int64) thread.Change {
	key := dedupe(ids.dispatch)
	e := thread.Enqueue{
		Dispatch: ids.dispatch, Run: ids.run, Priority: thread.DefaultPriority, AvailableAt: p.start, Dedupe: key,
		Owner: in.User, RejectBusy: in.Mode == ModeReject,
	}
	if in.Opening.Priority != nil {
		e.Priority = *in.Opening.Priority
	}
	if in.Opening.Parent != nil {
		// A child run never joins another run: its parent waits for the end of this one.
		e.Child = true
		return e
	}
	switch {
	case p.message != nil && p.mayJoin(in, head):
		return thread.Input{ID: ids.dispatch, Kind: thread.InboxInternal, Owner: in.User, Dedupe: key}
	case p.message != nil && !in.Into.IsZero():
		return thread.Input{Owner: in.User} // which is refused: the run is over
	// An inline run needs no interrupt on a free thread, and can claim it in the same write.
	case in.Mode == ModeInterrupt && (head.Busy(now) || !p.inline):
		return thread.Interrupt{Owner: in.User, Enqueue: &e}
	case p.mayJoin(in, head) && (steers(in) || replies(in, head)):
		return thread.Input{ID: ids.dispatch, Kind: thread.InboxPerson, Owner: in.User, Dedupe: key}
	case p.inline:
		return thread.EnqueueAndClaim{Enqueue: e, Worker: p.worker, Lease: p.lease.Milliseconds()}
	}
	return e
}

// mayJoin reports whether an open run may read the input: the run that it is meant for, if
// it names one, and not one that is closing.
func (p placing) mayJoin(in *Submission, head *thread.Head) bool {
	return p.start == 0 && !p.apart && head.Open() && head.Run.Status != thread.Closing && (in.Into.IsZero() || in.Into == head.Run.ID)
}

// steers reports whether the input asks to be read by the open run's next step.
func steers(in *Submission) bool {
	return in.Mode == ModeSteer || in.Answered && in.Mode == ""
}

// replies reports whether the input is the reply that the open run waits for. In every mode but
// reject and interrupt a waiting run gets the input of a person, since it asked. Internal input
// is not a reply, and neither is input that withdraws the run: both are queued.
func replies(in *Submission, head *thread.Head) bool {
	return in.Mode != ModeReject && in.Opening.Retake == nil && in.Origin != core.OriginInternal && head.Run.Status == thread.Waiting
}

// opens reports whether a change makes a separate run of the input.
func opens(c thread.Change) bool {
	_, input := c.(thread.Input)
	return !input
}

// replacedRuns is how many runs of the head end with a change that have slots of the
// tenant's limits. A run that waits has none.
func replacedRuns(c thread.Change, head *thread.Head) int {
	if _, ok := c.(thread.Interrupt); !ok {
		return 0
	}
	n := len(head.Pending)
	if head.Open() && head.Run.Status != thread.Waiting {
		n++
	}
	return n
}

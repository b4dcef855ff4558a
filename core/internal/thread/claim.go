package thread

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// MaxWorkerName bounds the worker's name in a claim, in bytes.
const MaxWorkerName = 64

// Claim is one worker's right to write log records and commit.
type Claim struct {
	Fence  uint64
	Epoch  uint64
	Worker string
	Lease  int64 // ends here
	// CommitID is that of the write that took the claim, also after writes of others:
	// see [Head.TakenBy].
	CommitID core.ID
	// Queued is how long the run was due before the claim took it, in milliseconds; 0: not
	// at all, or its next step is not the first under the claim.
	Queued int64
}

// Late is how long the work lay that the claim took, in milliseconds: Queued without the
// time in which a holder of an earlier claim still worked on the thread, such as a run
// that was before it in line. 0: the claim was in time, or has committed since.
func (h *Head) Late() int64 {
	free := madeAt(h.Claim.CommitID) - madeAt(h.HolderCommitID)
	return max(0, min(h.Claim.Queued, free))
}

// TakeClaim takes the right to work on the thread. If another claim is live, or no
// work may start yet, Claimed is false. A Hint then has the time to try again, and
// nothing is written unless the time at which the thread is due was wrong. An expired
// claim is taken over; overdue tickets and exhausted attempts turn the claim into one
// that closes the run. Tickets whose time to wake has come are decided, also if the run waits for
// others and there is nothing to claim: Woken has them.
//
// If there is something to claim, ErrSchema refuses a program that does not
// understand a record of the thread. ErrSuspect refuses a claim that is not Alone of
// a run that may be what takes its process down.
type TakeClaim struct {
	Worker string
	Lease  int64 // milliseconds from now
	Alone  bool  // the process does nothing else at the same time
	Inline bool  // a request streams the run: see EnqueueAndClaim
	WakeAt int64 // of the hint that brought the worker, see Hint; 0: it was sent for other work
}

func (c TakeClaim) apply(h *Head, t Transition) (Result, error) {
	if !h.Exists() {
		return Result{}, ErrNotFound
	}
	// The order matters. The work is found before any claim is refused, so that a
	// head with nothing to do refuses no claim; an end that is due comes before the
	// suspect, since closing counts its own claims.
	if h.Live(t.Now) {
		return Result{Unchanged: true}, nil
	}
	if h.Claim.Fence != 0 {
		h.noteLoss(t.Now)
		h.takeBack(true)
	}
	due := max(madeAt(h.HolderCommitID), h.Run.AvailableAt)
	if !h.Open() {
		list, i := h.queue().best(t.Now)
		if list == nil {
			return h.early(t), nil
		}
		due = max(madeAt((*list)[i].ID), (*list)[i].AvailableAt)
		h.openRun(list, i)
	}
	var woken []Woken
	if h.Run.Status == Waiting && h.Tickets.overdue(t.Now) {
		h.beginClosing(ReasonExpired, t) // the messages to the run are kept
	} else {
		woken = wakeTickets(h, t)
	}
	switch {
	case !h.Ready() || h.Run.AvailableAt > t.Now:
		early := h.early(t)
		early.Unchanged, early.Woken = early.Unchanged && len(woken) == 0, woken
		return early, nil
	case h.Run.Attempts >= MaxAttempts && h.Run.Status != Closing:
		h.beginClosing(ReasonDeadLetter, t)
		h.announce(t, OutboxDeadLettered, h.Run.ID)
	}
	if h.Schema > t.Schemas.Reads {
		return Result{}, fmt.Errorf("schema %d, newest known %d: %w", h.Schema, t.Schemas.Reads, ErrSchema)
	}
	if h.Suspect() && !c.Alone {
		return Result{}, fmt.Errorf("%d claims of run %s without progress: %w", h.Run.Attempts, h.Run.ID, ErrSuspect)
	}
	due = max(due, h.noteTaken(t.Now))
	if err := h.hold(c.Worker, c.Lease, t); err != nil {
		return Result{}, err
	}
	if c.Inline {
		h.SecondAt = 0
	}
	if h.Run.Cursor != CursorTools && h.Run.Status != Closing { // a round that is taken on has its step's start behind it
		h.Claim.Queued = max(t.Now-due, 0)
	}
	return Result{Claimed: true, Woken: woken}, nil
}

// early is the result of a claim that found nothing to do yet. A due time that has
// passed without anything being due (the index keeps an early one) is written again:
// else every sweep would wake the thread, and every wake-up would send itself again.
func (h *Head) early(t Transition) Result {
	late := h.DueAt <= t.Now && h.due(h.DueAt, t) > t.Now
	return Result{Unchanged: !late, Hint: h.wake(t.Now)}
}

// openRun takes the run of dispatch i out of the queue, or of the delayed ones.
func (h *Head) openRun(list *[]Dispatch, i int) {
	d := (*list)[i]
	*list = without(*list, i)
	h.Run = Run{ID: d.Run, Dispatch: d.ID, Revision: d.Revision, Child: d.Child}
	h.Inbox = d.Rest
}

// hold makes the claim itself. Attempts are counted here and nowhere else.
func (h *Head) hold(worker string, lease int64, t Transition) error {
	if worker == "" || len(worker) > MaxWorkerName {
		return invalid("claim: worker name of %d bytes, allowed are 1 to %d", len(worker), MaxWorkerName)
	}
	if lease <= 0 {
		return invalid("claim: lease of %d ms, must be positive", lease)
	}
	h.Run.Attempts = oneMore(h.Run.Attempts)
	h.Fence++
	h.Claim = Claim{Fence: h.Fence, Epoch: h.Epoch, Worker: worker, Lease: t.Now + lease, CommitID: t.CommitID}
	h.Run.AvailableAt = 0
	return nil
}

// takeBack gives the claim up and makes the run claimable again, immediately. The
// attempt stays counted. A claim that was lost, not released, may have cost a model
// call, if it was to make one.
func (h *Head) takeBack(lost bool) {
	if lost {
		h.Run.Lost = oneMore(h.Run.Lost)
		if h.Run.Status != Closing { // of a closing run the write that ended it has said so
			h.Run.loseRound()
		}
		if h.Run.Cursor != CursorTools && h.Run.Status != Closing {
			h.Run.ModelLost = oneMore(h.Run.ModelLost)
		}
	}
	h.Claim, h.Run.AvailableAt = Claim{}, 0
}

// Reclaim releases a claim whose holder is known to be gone, without waiting for its
// lease: the local host uses it at start, which owns the store's lock.
type Reclaim struct{}

func (Reclaim) apply(h *Head, t Transition) (Result, error) {
	if h.Claim.Fence == 0 {
		return Result{Unchanged: true, Hint: h.wake(t.Now)}, nil
	}
	h.noteLoss(t.Now)
	h.takeBack(true)
	return Result{Hint: h.wake(t.Now)}, nil
}

// Refence gives the holder the next fence. It may then put other bytes at a name that
// it has used, which under the old fence would be a conflict: after a refused commit
// the records of the next attempt can differ. The attempt is not counted again. It
// also shows a worker whose lease is over whether it still has its claim, and renews
// it then.
type Refence struct {
	Fence uint64
	Lease int64 // milliseconds from now; 0: as it is
}

func (c Refence) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	h.Fence++
	h.Claim.Fence = h.Fence
	if c.Lease > 0 {
		h.Claim.Lease = max(h.Claim.Lease, t.Now+c.Lease)
	}
	return Result{}, nil
}

// ExtendLease renews the holder's lease. ErrSuperseded and ErrClosing inform a holder
// that its run was ended.
type ExtendLease struct {
	Fence   uint64
	Lease   int64 // milliseconds from now
	Closing bool  // the holder knows, and is closing the run
}

func (c ExtendLease) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	if !c.Closing {
		if h.Claim.Epoch != h.Epoch {
			return Result{}, ErrSuperseded
		}
		if h.Run.Status == Closing {
			return Result{}, ErrClosing
		}
	}
	h.Claim.Lease = max(h.Claim.Lease, t.Now+c.Lease)
	return Result{}, nil
}

// held checks that fence is the current claim's.
func (h *Head) held(fence uint64) error {
	if fence == 0 || h.Claim.Fence != fence {
		return fmt.Errorf("fence %d, the thread's claim has %d: %w", fence, h.Claim.Fence, ErrFenced)
	}
	return nil
}

// working checks that fence holds the claim of a run that is not ending.
func (h *Head) working(fence uint64) error {
	if err := h.held(fence); err != nil {
		return err
	}
	if h.Run.Status == Closing {
		return ErrClosing
	}
	return nil
}

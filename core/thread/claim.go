package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// MaxWorkerName bounds the worker's name in a claim, in bytes.
const MaxWorkerName = 64

// Claim takes the right to work on the thread. When another claim is live, or
// nothing may be done yet, Claimed is false; a Hint then says when to come back,
// and nothing is written unless the time at which the thread is due was wrong.
// An expired claim is taken over; overdue tickets and exhausted attempts turn
// the claim into one that closes the run.
type Claim struct {
	Worker string
	Lease  int64 // milliseconds from now
}

func (a Claim) apply(h *Head, c Command) (Effects, error) {
	if !h.Exists() {
		return Effects{}, ErrNotFound
	}
	if h.Live(c.Now) {
		return Effects{Unchanged: true}, nil
	}
	if h.Claim.Fence != 0 {
		h.takeBack()
	}
	if !h.Open() {
		i := h.best(c.Now)
		if i < 0 {
			return h.early(c), nil
		}
		return Effects{Claimed: true}, h.take(i, a.Worker, a.Lease, c)
	}
	var before []Audit
	switch {
	case h.overdue(c.Now):
		before = h.end(ReasonExpired)
	case h.Run.Ready && h.Run.Attempts >= MaxAttempts && h.Run.Status != Closing:
		before = h.end(ReasonDeadLetter)
	}
	if !h.Run.Ready || h.Run.AvailableAt > c.Now {
		return h.early(c), nil
	}
	return Effects{Claimed: true, Before: before}, h.hold(a.Worker, a.Lease, c)
}

// early is the answer to a claim that found nothing to do yet. A due time that
// has passed without anything being due (the index keeps an early one) is
// written anew: else every sweep would wake the thread, and every wake-up
// would send itself again.
func (h *Head) early(c Command) Effects {
	late := h.DueAt != 0 && h.DueAt <= c.Now && h.due(h.DueAt, c) > c.Now
	return Effects{Unchanged: !late, Hint: h.wake(c.Now)}
}

// take opens the run of pending dispatch i under a new claim.
func (h *Head) take(i int, worker string, lease int64, c Command) error {
	d := h.Pending[i]
	h.Pending = slices.Delete(h.Pending, i, i+1)
	h.Run = Run{ID: d.Run, Dispatch: d.ID, Status: Running, Cursor: CursorStart, Parent: d.Parent}
	return h.hold(worker, lease, c)
}

// hold makes the claim itself. Attempts are counted here and nowhere else.
func (h *Head) hold(worker string, lease int64, c Command) error {
	if worker == "" || len(worker) > MaxWorkerName {
		return invalid("claim: worker name of %d bytes, allowed are 1 to %d", len(worker), MaxWorkerName)
	}
	if lease <= 0 {
		return invalid("claim: lease of %d ms, must be positive", lease)
	}
	attempts := h.Run.Attempts
	if attempts < 255 {
		attempts++
	}
	h.Fence++
	h.Claim = Held{
		Fence: h.Fence, Epoch: h.Epoch, Dispatch: h.Run.Dispatch, Worker: worker,
		Lease: c.Now + lease, Attempts: attempts, Closing: h.Run.Status == Closing,
	}
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = false, 0, 0
	return nil
}

// takeBack gives the claim up and makes the run claimable again. The attempts
// stay counted.
func (h *Head) takeBack() {
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = true, 0, h.Claim.Attempts
	h.Claim = Held{}
}

// overdue reports whether an undecided ticket of a waiting run has expired.
func (h *Head) overdue(now int64) bool {
	return h.Open() && h.Run.Status == Waiting && slices.ContainsFunc(h.Tickets, func(t Ticket) bool {
		return t.Decision == 0 && t.Deadline != 0 && t.Deadline <= now
	})
}

// Reclaim takes a claim back whose holder is known to be gone, without waiting
// for its lease: the local host at start, which owns the store's lock.
type Reclaim struct{}

func (Reclaim) apply(h *Head, c Command) (Effects, error) {
	if h.Claim.Fence == 0 {
		return Effects{Unchanged: true, Hint: h.wake(c.Now)}, nil
	}
	h.takeBack()
	return Effects{Hint: h.wake(c.Now)}, nil
}

// ExtendLease renews the holder's lease. ErrSuperseded and ErrClosing tell the
// holder that its run was ended; a claim that was taken to close it goes on.
type ExtendLease struct {
	Fence uint64
	Lease int64 // milliseconds from now
}

func (a ExtendLease) apply(h *Head, c Command) (Effects, error) {
	if err := h.held(a.Fence); err != nil {
		return Effects{}, err
	}
	if h.Claim.Epoch != h.Epoch {
		return Effects{}, ErrSuperseded
	}
	if h.Run.Status == Closing && !h.Claim.Closing {
		return Effects{}, ErrClosing
	}
	h.Claim.Lease = max(h.Claim.Lease, c.Now+a.Lease)
	return Effects{}, nil
}

// Nack gives the work back without progress, to be tried again at AvailableAt.
// At MaxAttempts the run is dead-lettered instead.
type Nack struct {
	Fence       uint64
	AvailableAt int64 // 0: at once
}

func (a Nack) apply(h *Head, c Command) (Effects, error) {
	if err := h.held(a.Fence); err != nil {
		return Effects{}, err
	}
	h.takeBack()
	h.Run.AvailableAt = max(a.AvailableAt, 0)
	var before []Audit
	if h.Run.Status != Closing && h.Run.Attempts >= MaxAttempts {
		before = h.end(ReasonDeadLetter)
	}
	return Effects{Before: before, Hint: h.wake(c.Now)}, nil
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

// end sets the open run to closing: the holder closes it, or whoever claims
// next. Its tickets and inbox end with it; the audits say so for every inbox
// entry.
func (h *Head) end(reason Reason) []Audit {
	h.Run.Status, h.Run.Reason = Closing, reason
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = h.Claim.Fence == 0, 0, 0
	h.Tickets = nil
	var audits []Audit
	for _, e := range h.Inbox {
		audits = append(audits, Audit{Dispatch: e.ID, Run: h.Run.ID, Status: core.DispatchCancelled})
	}
	h.Inbox = nil
	if reason == ReasonDeadLetter {
		audits = append(audits, Audit{Dispatch: h.Run.Dispatch, Run: h.Run.ID, Status: core.DispatchDeadLetter})
	}
	return audits
}

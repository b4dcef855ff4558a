package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// watchdog is added to the lease for the hint of an inline run: nobody is to
// take the run from under its stream.
const watchdog = 5_000

// MaxWorkerName bounds the worker's name in a claim, in bytes.
const MaxWorkerName = 64

// Enqueue adds a run to the thread's queue. The first one makes the thread.
type Enqueue struct {
	Dispatch    core.ID
	Run         core.ID
	Priority    uint8
	AvailableAt int64  // 0: at once
	Dedupe      uint64 // hash of the caller's key; 0: none
	Owner       string // user on whose behalf it happens
	RejectBusy  bool   // ErrBusy instead of queueing
	Parent      *Parent
}

func (a Enqueue) apply(h *Head, c Command) (Effects, error) {
	if a.Dispatch.IsZero() || a.Run.IsZero() {
		return Effects{}, invalid("enqueue: dispatch and run must have ids")
	}
	if h.Exists() && h.Owner != "" && h.Owner != a.Owner {
		return Effects{}, ErrForbidden
	}
	if a.Dedupe != 0 && slices.Contains(h.Recent, a.Dedupe) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if a.RejectBusy && h.Busy() {
		return Effects{}, ErrBusy
	}
	if len(h.Pending) >= MaxPending {
		return Effects{}, fmt.Errorf("%d dispatches are queued, at most %d: %w", len(h.Pending), MaxPending, ErrFull)
	}
	if !h.Exists() {
		h.Owner = a.Owner
	}
	h.Pending = append(h.Pending, Dispatch{
		ID: a.Dispatch, Run: a.Run, Priority: a.Priority, AvailableAt: a.AvailableAt, Dedupe: a.Dedupe, Parent: a.Parent,
	})
	if a.Dedupe != 0 {
		h.Recent = append(h.Recent, a.Dedupe)
		if len(h.Recent) > ringSize {
			h.Recent = h.Recent[1:]
		}
	}
	return Effects{Hint: h.wake(c.Now)}, nil
}

// EnqueueAndClaim enqueues and, if nothing else is open or queued, claims in
// the same write: an inline run. Otherwise it only enqueues and Claimed is
// false. The hint of a claimed run comes after its lease.
type EnqueueAndClaim struct {
	Enqueue
	Worker string
	Lease  int64 // milliseconds from now
}

func (a EnqueueAndClaim) apply(h *Head, c Command) (Effects, error) {
	free := !h.Busy() && h.Claim.Fence == 0
	effects, err := a.Enqueue.apply(h, c)
	if err != nil || effects.Unchanged || !free || a.AvailableAt > c.Now {
		return effects, err
	}
	if err := h.take(0, a.Worker, a.Lease, c); err != nil {
		return Effects{}, err
	}
	return Effects{Claimed: true, Hint: &Hint{Dispatch: a.Dispatch, At: h.Claim.Lease + watchdog}}, nil
}

// Claim takes the right to work on the thread. When another claim is live, or
// nothing may be done yet, it changes nothing and Claimed is false; a Hint then
// says when to come back. An expired claim is taken over; overdue tickets and
// exhausted attempts turn the claim into one that closes the run.
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
	var before []Audit
	if h.overdue(c.Now) {
		before = append(before, h.end(ReasonExpired)...)
	}
	if h.Open() && h.Run.Ready && h.Run.Attempts >= MaxAttempts && h.Run.Status != Closing {
		before = append(before, h.end(ReasonDeadLetter)...)
	}
	switch {
	case h.Open() && h.Run.Status == Closing:
	case h.Open():
		if !h.Run.Ready || h.Run.AvailableAt > c.Now {
			return Effects{Unchanged: true, Hint: h.wake(c.Now)}, nil
		}
	default:
		i := h.best(c.Now)
		if i < 0 {
			return Effects{Unchanged: true, Hint: h.wake(c.Now)}, nil
		}
		if err := h.take(i, a.Worker, a.Lease, c); err != nil {
			return Effects{}, err
		}
		return Effects{Claimed: true, Before: before}, nil
	}
	if err := h.hold(h.Run.Attempts, a.Worker, a.Lease, c); err != nil {
		return Effects{}, err
	}
	return Effects{Claimed: true, Before: before}, nil
}

// take opens the run of pending dispatch i under a new claim.
func (h *Head) take(i int, worker string, lease int64, c Command) error {
	d := h.Pending[i]
	h.Pending = slices.Delete(h.Pending, i, i+1)
	h.Run = Run{ID: d.Run, Dispatch: d.ID, Status: Running, Cursor: CursorStart, Parent: d.Parent}
	return h.hold(0, worker, lease, c)
}

// hold makes the claim itself. Attempts are counted here and nowhere else.
func (h *Head) hold(attempts uint8, worker string, lease int64, c Command) error {
	if worker == "" || len(worker) > MaxWorkerName {
		return invalid("claim: worker name of %d bytes, allowed are 1 to %d", len(worker), MaxWorkerName)
	}
	if lease <= 0 {
		return invalid("claim: lease of %d ms, must be positive", lease)
	}
	if attempts < 255 {
		attempts++
	}
	h.Fence++
	h.Claim = Held{Fence: h.Fence, Epoch: h.Epoch, Dispatch: h.Run.Dispatch, Worker: worker, Lease: c.Now + lease, Attempts: attempts}
	if h.Run.Status == Waiting {
		h.Run.Status = Running
	}
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = false, 0, 0
	return nil
}

// takeBack returns the work of a dead holder to the run. The attempt stays
// counted.
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
// holder that its run was ended.
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
	if h.Run.Status == Closing {
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
	var before []Audit
	if h.Run.Status != Closing {
		h.Run.AvailableAt = a.AvailableAt
		if h.Run.Attempts >= MaxAttempts {
			before = h.end(ReasonDeadLetter)
		}
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

// end sets the open run to closing. Its tickets and inbox end with it; the
// audits say so for every inbox entry.
func (h *Head) end(reason Reason) []Audit {
	h.Run.Status, h.Run.Reason = Closing, reason
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = false, 0, 0
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

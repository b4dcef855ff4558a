package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// watchdog is added to the lease for the hint of an inline run: nobody is to
// take the run from under its stream.
const watchdog = 5_000

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
	if err := a.check(); err != nil {
		return Effects{}, err
	}
	if err := h.owned(a.Owner); err != nil {
		return Effects{}, err
	}
	if h.knows(a) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if a.RejectBusy && h.Busy() {
		return Effects{}, ErrBusy
	}
	if n := len(h.Pending) + len(h.Later); n >= MaxPending {
		return Effects{}, fmt.Errorf("%d dispatches are queued or wait for their parent to be told, at most %d: %w", n, MaxPending, ErrFull)
	}
	if !h.Exists() {
		h.Owner = a.Owner
	}
	h.Pending = append(h.Pending, Dispatch{
		ID: a.Dispatch, Run: a.Run, Priority: a.Priority, AvailableAt: max(a.AvailableAt, 0), Dedupe: a.Dedupe, Parent: a.Parent.clone(),
	})
	h.remember(a.Dedupe)
	return Effects{Hint: h.wake(c.Now)}, nil
}

// check bounds what comes from outside, so that no head outgrows MaxSize.
func (a Enqueue) check() error {
	switch {
	case a.Dispatch.IsZero() || a.Run.IsZero():
		return invalid("enqueue: dispatch and run must have ids")
	case len(a.Owner) > core.MaxNameLength:
		return invalid("enqueue: owner of %d bytes, at most %d are allowed", len(a.Owner), core.MaxNameLength)
	case a.Parent != nil && len(a.Parent.Thread) > core.MaxNameLength:
		return invalid("enqueue: parent thread id of %d bytes, at most %d are allowed", len(a.Parent.Thread), core.MaxNameLength)
	}
	return nil
}

// knows reports whether the same dispatch was accepted before: by its key, or
// because it is still here after the key was forgotten.
func (h *Head) knows(a Enqueue) bool {
	return h.seen(a.Dedupe) || h.Run.Dispatch == a.Dispatch ||
		slices.ContainsFunc(h.Pending, func(d Dispatch) bool { return d.ID == a.Dispatch })
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
	free := !h.Busy()
	effects, err := a.Enqueue.apply(h, c)
	if err != nil || effects.Unchanged || !free || a.AvailableAt > c.Now {
		return effects, err
	}
	if err := h.take(0, a.Worker, a.Lease, c); err != nil {
		return Effects{}, err
	}
	return Effects{Claimed: true, Hint: &Hint{Dispatch: a.Dispatch, At: h.Claim.Lease + watchdog}}, nil
}

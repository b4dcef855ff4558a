package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Cancel ends a run: an open one closes, a queued one leaves the queue with the
// input that waits for it. A zero Run means the open run, or the first queued
// one when none is open.
type Cancel struct{ Run core.ID }

func (c Cancel) apply(h *Head, t Transition) (Result, error) {
	if h.Open() && (c.Run.IsZero() || c.Run == h.Run.ID) {
		if h.Run.Status == Closing {
			return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
		}
		return Result{Before: h.beginClosing(ReasonCancelled), Hint: h.wake(t.Now)}, nil
	}
	i := slices.IndexFunc(h.Pending, func(d Dispatch) bool { return c.Run.IsZero() || d.Run == c.Run })
	if i < 0 {
		return Result{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	return Result{Before: h.drop(i, core.DispatchCancelled, t), Hint: h.tellBy(t, h.wake(t.Now))}, nil
}

// Interrupt supersedes everything that is queued or open, and may enqueue what
// comes instead in the same write. Only the enqueue can be refused for want of
// place, when parents of many earlier runs are still to be told.
type Interrupt struct {
	Owner   string
	Enqueue *Enqueue // its RejectBusy does not count
	Dedupe  uint64   // hash of the caller's key of an interrupt without Enqueue, not 0
}

func (c Interrupt) apply(h *Head, t Transition) (Result, error) {
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if c.Enqueue == nil && c.Dedupe == 0 {
		return Result{}, invalid("interrupt: without input it must have a dedupe key")
	}
	if c.Enqueue != nil && h.knows(*c.Enqueue) || c.Enqueue == nil && h.seen(c.Dedupe) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	if !h.Busy() && c.Enqueue == nil {
		return Result{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	h.Epoch++
	var before []Audit
	for len(h.Pending) > 0 {
		before = append(before, h.drop(0, core.DispatchSuperseded, t)...)
	}
	switch {
	case h.Open() && h.Run.Status != Closing:
		before = append(before, h.beginClosing(ReasonSuperseded)...)
	case h.Open():
		before = append(before, h.dropInbox()...) // it would open before what interrupts
	}
	if c.Enqueue == nil {
		h.remember(c.Dedupe)
		return Result{Before: before, Hint: h.tellBy(t, h.wake(t.Now))}, nil
	}
	enqueue := *c.Enqueue
	enqueue.RejectBusy = false
	if _, err := enqueue.apply(h, t); err != nil {
		return Result{}, err
	}
	return Result{Before: before, Hint: h.wake(t.Now)}, nil
}

// drop takes pending dispatch i out of the queue, and ends the input that waits
// for its run.
func (h *Head) drop(i int, status core.DispatchStatus, t Transition) []Audit {
	d := h.Pending[i]
	h.Pending = without(h.Pending, i)
	h.tell(t, d.Parent, d.Run)
	return append([]Audit{{ID: d.ID, Run: d.Run, Status: status}}, cancelled(d.Rest, d.Run)...)
}

// Delete makes the thread a tombstone that never expires; its fence stays, so
// that no late worker can write, and so do the notifies, also of the runs that
// end with it. Erased says that the sweep removed the rest of a deleted thread;
// it is on nobody's behalf.
type Delete struct {
	Owner  string
	Erased bool
}

func (c Delete) apply(h *Head, t Transition) (Result, error) {
	switch {
	case !h.Exists():
		return Result{}, ErrNotFound
	case c.Erased && !h.Deleted:
		return Result{}, invalid("delete: erased before it was deleted")
	case c.Erased:
		if h.Erased {
			return Result{Unchanged: true, Duplicate: true}, nil
		}
		h.Erased = true
		return Result{}, nil
	}
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if h.Deleted {
		return Result{Unchanged: true, Duplicate: true}, nil
	}
	for _, d := range h.Pending {
		h.tell(t, d.Parent, d.Run)
	}
	h.tell(t, h.Run.Parent, h.Run.ID)
	*h = Head{
		Layout: h.Layout, Schema: h.Schema, Version: h.Version, CommitID: h.CommitID, HolderCommitID: h.HolderCommitID, Incarnation: h.Incarnation, Owner: h.Owner,
		Deleted: true, Epoch: h.Epoch + 1, Fence: h.Fence, Seq: h.Seq, Closing: h.Closing, Notify: h.Notify, Later: h.Later,
	}
	return Result{Hint: h.tellBy(t, nil)}, nil
}

package thread

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Cancel ends a run: an open one closes, a queued one leaves the queue with the
// input that waits for it, and so does a delayed one. A zero Run means the open run, or
// the first queued one when none is open; never a delayed one, due or not.
type Cancel struct{ Run core.ID }

func (c Cancel) apply(h *Head, t Transition) (Result, error) {
	if h.Open() && (c.Run.IsZero() || c.Run == h.Run.ID) {
		if h.Run.Status == Closing {
			return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
		}
		return Result{Before: h.beginClosing(ReasonCancelled, t), Hint: h.wake(t.Now)}, nil
	}
	list, i := &h.Pending, 0
	if !c.Run.IsZero() {
		list, i = h.queue().find(c.Run)
	}
	if list == nil || len(*list) == 0 {
		return Result{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	return Result{Before: h.drop(list, i, core.DispatchCancelled, t), Hint: h.Outbox.hint(t.Now, h.wake(t.Now))}, nil
}

// Interrupt supersedes everything that is queued or open, and may enqueue its
// replacement in the same write. Delayed runs stay, due or not. Only the enqueue can
// be refused for lack of a place, when the parents of many earlier runs are still to
// be notified.
type Interrupt struct {
	Owner   string
	Enqueue *Enqueue // its RejectBusy does not count
	// For an interrupt without Enqueue: the hash of the caller's key, not 0, and the
	// epoch that the caller saw. If the head has a later epoch, an interrupt has
	// ended what the caller saw, its own whose response was lost or another's. It is
	// then a duplicate, and later work is not changed.
	Dedupe uint64
	Epoch  uint64
}

func (c Interrupt) apply(h *Head, t Transition) (Result, error) {
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if c.Enqueue == nil && c.Dedupe == 0 {
		return Result{}, invalid("interrupt: without input it must have a dedupe key")
	}
	if c.Enqueue != nil && h.knows(*c.Enqueue) || c.Enqueue == nil && (h.Recent.has(c.Dedupe) || h.Epoch > c.Epoch) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	if !h.Open() && len(h.Pending) == 0 && c.Enqueue == nil {
		return Result{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	h.Epoch++
	var before []Audit
	for len(h.Pending) > 0 {
		before = append(before, h.drop(&h.Pending, 0, core.DispatchSuperseded, t)...)
	}
	switch {
	case h.Open() && h.Run.Status != Closing:
		before = append(before, h.beginClosing(ReasonSuperseded, t)...)
	case h.Open():
		before = append(before, h.Inbox.cancel(h.Run.ID)...) // it would open before what interrupts
	}
	if c.Enqueue == nil {
		h.Recent.add(c.Dedupe)
		return Result{Before: before, Hint: h.Outbox.hint(t.Now, h.wake(t.Now))}, nil
	}
	enqueue := *c.Enqueue
	enqueue.RejectBusy = false
	if _, err := enqueue.apply(h, t); err != nil {
		return Result{}, err
	}
	return Result{Before: before, Hint: h.wake(t.Now)}, nil
}

// drop takes dispatch i out of the queue, or of the delayed ones, and ends the input
// that waits for its run.
func (h *Head) drop(list *[]Dispatch, i int, status core.DispatchStatus, t Transition) []Audit {
	d := (*list)[i]
	*list = without(*list, i)
	h.oweEnd(t, d.Run, d.Child)
	return append([]Audit{{ID: d.ID, Run: d.Run, Status: status}}, d.Rest.cancel(d.Run)...)
}

// Delete makes the thread a tombstone that never expires; its fence stays, so that no
// late worker can write, and so does the outbox, with the notices of the runs that
// end with it. Erased means that the sweep removed the rest of a deleted thread. It
// has no user, and comes after the delivery of entries that need records: see
// [Outbox.OwesRecords].
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
	case c.Erased && h.Outbox.OwesRecords():
		return Result{}, invalid("delete: erased before what it owes was delivered")
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
	for _, d := range h.Unopened() {
		h.oweEnd(t, d.Run, d.Child)
	}
	left := oweCancel(h, t)
	h.oweEnd(t, h.Run.ID, h.Run.Child)
	*h = Head{
		Layout: h.Layout, Schema: h.Schema, Version: h.Version, CommitID: h.CommitID, HolderCommitID: h.HolderCommitID, Incarnation: h.Incarnation, Owner: h.Owner,
		Deleted: true, Epoch: h.Epoch + 1, Fence: h.Fence, Seq: h.Seq, Closing: h.Closing,
		ClosingAt: max(t.Now, 0), Outbox: h.Outbox, Missed: h.Missed,
	}
	return Result{Left: left, Hint: h.Outbox.hint(t.Now, nil)}, nil
}

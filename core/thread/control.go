package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Cancel ends a run: an open one closes, a queued one leaves the queue. A zero
// Run means the open run, or the first queued one when none is open.
type Cancel struct{ Run core.ID }

func (a Cancel) apply(h *Head, c Command) (Effects, error) {
	if h.Open() && (a.Run.IsZero() || a.Run == h.Run.ID) {
		if h.Run.Status == Closing {
			return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
		}
		return Effects{Before: h.end(ReasonCancelled), Hint: h.wake(c.Now)}, nil
	}
	i := slices.IndexFunc(h.Pending, func(d Dispatch) bool { return a.Run.IsZero() || d.Run == a.Run })
	if i < 0 {
		return Effects{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	d := h.Pending[i]
	h.Pending = slices.Delete(h.Pending, i, i+1)
	h.tell(d.Parent, d.Run, c.Now)
	return Effects{Before: []Audit{{Dispatch: d.ID, Run: d.Run, Status: core.DispatchCancelled}}, Hint: h.wake(c.Now)}, nil
}

// Interrupt supersedes everything that is queued or open, and may enqueue what
// comes instead in the same write. Only the enqueue can be refused for want of
// place, when parents of many earlier runs are still to be told.
type Interrupt struct {
	Owner   string
	Enqueue *Enqueue // its RejectBusy does not count
}

func (a Interrupt) apply(h *Head, c Command) (Effects, error) {
	if err := h.owned(a.Owner); err != nil {
		return Effects{}, err
	}
	if a.Enqueue != nil && h.knows(*a.Enqueue) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if !h.Busy() && a.Enqueue == nil {
		return Effects{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	h.Epoch++
	before := h.drop(core.DispatchSuperseded, c.Now)
	if h.Open() && h.Run.Status != Closing {
		before = append(before, h.end(ReasonSuperseded)...)
	}
	if a.Enqueue != nil {
		enqueue := *a.Enqueue
		enqueue.RejectBusy = false
		if _, err := enqueue.apply(h, c); err != nil {
			return Effects{}, err
		}
	}
	return Effects{Before: before, Hint: h.wake(c.Now)}, nil
}

// drop empties the queue.
func (h *Head) drop(status core.DispatchStatus, now int64) []Audit {
	var audits []Audit
	for _, d := range h.Pending {
		audits = append(audits, Audit{Dispatch: d.ID, Run: d.Run, Status: status})
		h.tell(d.Parent, d.Run, now)
	}
	h.Pending = nil
	return audits
}

// tell leaves a notify for the parent of a run that is over. It is never
// refused: Enqueue keeps a place for each.
func (h *Head) tell(parent *Parent, child core.ID, now int64) {
	if parent == nil {
		return
	}
	n := Notify{Child: child, Parent: *parent, Retry: now}
	if h.Notify != nil {
		h.Later = append(h.Later, n)
		return
	}
	h.Notify = &n
}

// Notified clears the notify that was delivered; the next one takes its place.
type Notified struct{ Child core.ID }

func (a Notified) apply(h *Head, c Command) (Effects, error) {
	if h.Notify == nil || h.Notify.Child != a.Child {
		return Effects{Unchanged: true, Duplicate: true}, nil
	}
	h.Notify = nil
	if len(h.Later) > 0 {
		next := h.Later[0]
		h.Notify, h.Later = &next, slices.Delete(h.Later, 0, 1)
	}
	return Effects{}, nil
}

// Delete makes the thread a tombstone that never expires; its fence stays, so
// that no late worker can write, and so do the notifies, also of the runs that
// end with it. Erased says that the sweep removed the rest of a deleted thread;
// it is on nobody's behalf.
type Delete struct {
	Owner  string
	Erased bool
}

func (a Delete) apply(h *Head, c Command) (Effects, error) {
	switch {
	case !h.Exists():
		return Effects{}, ErrNotFound
	case a.Erased && !h.Deleted:
		return Effects{}, invalid("delete: erased before it was deleted")
	case a.Erased:
		if h.Erased {
			return Effects{Unchanged: true, Duplicate: true}, nil
		}
		h.Erased = true
		return Effects{}, nil
	}
	if err := h.owned(a.Owner); err != nil {
		return Effects{}, err
	}
	if h.Deleted {
		return Effects{Unchanged: true, Duplicate: true}, nil
	}
	h.drop(core.DispatchCancelled, c.Now)
	h.tell(h.Run.Parent, h.Run.ID, c.Now)
	*h = Head{
		Schema: h.Schema, Version: h.Version, CommitID: h.CommitID, Incarnation: h.Incarnation, Owner: h.Owner,
		Deleted: true, Epoch: h.Epoch + 1, Fence: h.Fence, Seq: h.Seq, Notify: h.Notify, Later: h.Later,
	}
	return Effects{}, nil
}

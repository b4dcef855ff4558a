package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Input gives the open run something to read at its next step. A person's
// input on a waiting run supersedes its tickets and continues the run. Without
// an open run it is ErrNotFound: enqueue instead.
type Input struct {
	ID    core.ID
	Kind  InboxKind
	Owner string
}

func (a Input) apply(h *Head, c Command) (Effects, error) {
	if h.Exists() && h.Owner != "" && h.Owner != a.Owner {
		return Effects{}, ErrForbidden
	}
	if !h.Open() || h.Run.Status == Closing {
		return Effects{}, fmt.Errorf("open run: %w", ErrNotFound)
	}
	if slices.ContainsFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == a.ID }) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if len(h.Inbox) >= MaxInbox {
		return Effects{}, fmt.Errorf("%d inbox entries, at most %d: %w", len(h.Inbox), MaxInbox, ErrFull)
	}
	h.Inbox = append(h.Inbox, InboxEntry{ID: a.ID, Kind: a.Kind})
	if h.Run.Status == Waiting && a.Kind == InboxPerson {
		for i, s := range h.Run.Calls {
			if s == CallSuspended {
				h.Run.Calls[i] = CallCancelling
			}
		}
		h.Tickets = nil
		h.resume()
	}
	return Effects{Hint: h.wake(c.Now)}, nil
}

// resume makes a waiting run claimable.
func (h *Head) resume() {
	h.Run.Status = Running
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = true, 0, 0
}

// Edit replaces an inbox entry that no step has consumed by its next revision,
// whose text must already be stored as Q#<id>#<revision>.
type Edit struct {
	ID       core.ID
	Revision uint32 // the new one: the old plus one
}

func (a Edit) apply(h *Head, c Command) (Effects, error) {
	i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == a.ID })
	if i < 0 {
		return Effects{}, fmt.Errorf("inbox entry %s: %w", a.ID, ErrNotFound)
	}
	if h.Inbox[i].Revision+1 != a.Revision {
		return Effects{}, fmt.Errorf("revision %d follows %d: %w", a.Revision, h.Inbox[i].Revision, ErrStale)
	}
	h.Inbox[i].Revision = a.Revision
	return Effects{}, nil
}

// Retract takes back an inbox entry that no step has consumed.
type Retract struct{ ID core.ID }

func (a Retract) apply(h *Head, c Command) (Effects, error) {
	i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == a.ID })
	if i < 0 {
		return Effects{}, fmt.Errorf("inbox entry %s: %w", a.ID, ErrNotFound)
	}
	h.Inbox = slices.Delete(h.Inbox, i, i+1)
	return Effects{Before: []Audit{{Dispatch: a.ID, Run: h.Run.ID, Status: core.DispatchCancelled}}}, nil
}

// Decide answers a ticket. The same decision again is a duplicate; another one
// is ErrDecided; no ticket is ErrNotFound.
type Decide struct {
	Run      core.ID
	Call     uint8
	Decision uint64 // hash of the decision id, not 0
	Resume   bool   // false: cancel the call
}

func (a Decide) apply(h *Head, c Command) (Effects, error) {
	i := slices.IndexFunc(h.Tickets, func(t Ticket) bool { return t.Call == a.Call })
	if h.Run.ID != a.Run || h.Run.Status == Closing || i < 0 {
		return Effects{}, fmt.Errorf("ticket of call %d of run %s: %w", a.Call, a.Run, ErrNotFound)
	}
	t := &h.Tickets[i]
	switch {
	case a.Decision == 0:
		return Effects{}, invalid("decide: the decision must have an id")
	case t.Decision == a.Decision:
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	case t.Decision != 0:
		return Effects{}, ErrDecided
	}
	t.Decision = a.Decision
	h.Run.Calls[a.Call] = CallCancelling
	if a.Resume {
		h.Run.Calls[a.Call] = CallResuming
	}
	if h.Run.Status == Waiting {
		h.resume()
	}
	return Effects{Hint: h.wake(c.Now)}, nil
}

// Cancel ends a run: an open one closes, a queued one leaves the queue. A zero
// Run means the open run, or the first queued one when none is open.
type Cancel struct{ Run core.ID }

func (a Cancel) apply(h *Head, c Command) (Effects, error) {
	if h.Open() && (a.Run.IsZero() || a.Run == h.Run.ID) {
		if h.Run.Status == Closing {
			return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
		}
		before := h.end(ReasonCancelled)
		return Effects{Before: before, Hint: h.wake(c.Now)}, nil
	}
	i := slices.IndexFunc(h.Pending, func(d Dispatch) bool { return a.Run.IsZero() || d.Run == a.Run })
	if i < 0 {
		return Effects{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	d := h.Pending[i]
	h.Pending = slices.Delete(h.Pending, i, i+1)
	return Effects{Before: []Audit{{Dispatch: d.ID, Run: d.Run, Status: core.DispatchCancelled}}, Hint: h.wake(c.Now)}, nil
}

// Interrupt supersedes everything that is queued or open, and may enqueue what
// comes instead in the same write.
type Interrupt struct {
	Owner   string
	Enqueue *Enqueue
}

func (a Interrupt) apply(h *Head, c Command) (Effects, error) {
	if a.Enqueue != nil && a.Enqueue.Dedupe != 0 && slices.Contains(h.Recent, a.Enqueue.Dedupe) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if !h.Busy() && a.Enqueue == nil {
		return Effects{}, fmt.Errorf("open or queued run: %w", ErrNotFound)
	}
	if h.Owner != "" && h.Owner != a.Owner {
		return Effects{}, ErrForbidden
	}
	h.Epoch++
	var before []Audit
	for _, d := range h.Pending {
		before = append(before, Audit{Dispatch: d.ID, Run: d.Run, Status: core.DispatchSuperseded})
	}
	h.Pending = nil
	if h.Open() && h.Run.Status != Closing {
		before = append(before, h.end(ReasonSuperseded)...)
	}
	if a.Enqueue != nil {
		if _, err := a.Enqueue.apply(h, c); err != nil {
			return Effects{}, err
		}
	}
	return Effects{Before: before, Hint: h.wake(c.Now)}, nil
}

// Notified clears the notify that was delivered.
type Notified struct{ Child core.ID }

func (a Notified) apply(h *Head, c Command) (Effects, error) {
	if h.Notify == nil || h.Notify.Child != a.Child {
		return Effects{Unchanged: true, Duplicate: true}, nil
	}
	h.Notify = nil
	return Effects{}, nil
}

// Delete makes the thread a tombstone that never expires; its fence stays, so
// that no late worker can write. Erased says that the sweep removed the rest.
type Delete struct {
	Owner  string
	Erased bool
}

func (a Delete) apply(h *Head, c Command) (Effects, error) {
	if !h.Exists() {
		return Effects{}, ErrNotFound
	}
	if h.Deleted {
		if !a.Erased || h.Erased {
			return Effects{Unchanged: true, Duplicate: true}, nil
		}
		h.Erased = true
		return Effects{}, nil
	}
	if h.Owner != "" && h.Owner != a.Owner {
		return Effects{}, ErrForbidden
	}
	*h = Head{
		Schema: h.Schema, Version: h.Version, CommitID: h.CommitID, Incarnation: h.Incarnation, Owner: h.Owner,
		Deleted: true, Epoch: h.Epoch + 1, Fence: h.Fence, Seq: h.Seq,
	}
	return Effects{}, nil
}

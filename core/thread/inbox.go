package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Input gives the open run something to read at its next step. A person's
// input on a waiting run supersedes its tickets and continues the run; internal
// input waits along. Without an open run it is ErrNotFound: enqueue instead.
type Input struct {
	ID     core.ID
	Kind   InboxKind
	Owner  string
	Dedupe uint64 // hash of the caller's key, as in Enqueue; 0: known only until a step read it
}

func (a Input) apply(h *Head, c Command) (Effects, error) {
	if err := h.owned(a.Owner); err != nil {
		return Effects{}, err
	}
	if a.ID.IsZero() || a.Kind > InboxInternal {
		return Effects{}, invalid("input: id %s of kind %d", a.ID, a.Kind)
	}
	if i, _ := h.entry(a.ID); i >= 0 || h.seen(a.Dedupe) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	if !h.Open() || h.Run.Status == Closing {
		return Effects{}, fmt.Errorf("open run: %w", ErrNotFound)
	}
	if len(h.Inbox) >= MaxInbox {
		return Effects{}, fmt.Errorf("%d inbox entries, at most %d: %w", len(h.Inbox), MaxInbox, ErrFull)
	}
	h.Inbox = append(h.Inbox, InboxEntry{ID: a.ID, Kind: a.Kind})
	h.remember(a.Dedupe)
	if h.Run.Status == Waiting && a.Kind == InboxPerson {
		h.supersede()
		h.resume()
	}
	return Effects{Hint: h.wake(c.Now)}, nil
}

// resume makes a waiting run claimable.
func (h *Head) resume() {
	h.Run.Status = Running
	h.Run.Ready, h.Run.AvailableAt, h.Run.Attempts = true, 0, 0
}

// entry finds an inbox entry.
func (h *Head) entry(id core.ID) (int, error) {
	i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == id })
	if i < 0 {
		return i, fmt.Errorf("inbox entry %s: %w", id, ErrNotFound)
	}
	return i, nil
}

// Edit replaces an inbox entry that no step has consumed by its next revision,
// whose text must already be stored as Q#<id>#<revision>.
type Edit struct {
	ID       core.ID
	Revision uint32 // the new one: the old plus one
}

func (a Edit) apply(h *Head, c Command) (Effects, error) {
	i, err := h.entry(a.ID)
	if err != nil {
		return Effects{}, err
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
	i, err := h.entry(a.ID)
	if err != nil {
		return Effects{}, err
	}
	h.Inbox = slices.Delete(h.Inbox, i, i+1)
	return Effects{Before: []Audit{{Dispatch: a.ID, Run: h.Run.ID, Status: core.DispatchCancelled}}}, nil
}

// Decide answers a ticket. The same decision again is a duplicate, also after
// its call went on; another one is ErrDecided; no ticket is ErrNotFound.
type Decide struct {
	Run      core.ID
	Call     uint8
	Ticket   uint64 // hash of the suspension id; 0: whichever the call has
	Decision uint64 // hash of the decision id, not 0
	Resume   bool   // false: cancel the call
}

func (a Decide) apply(h *Head, c Command) (Effects, error) {
	if a.Decision == 0 {
		return Effects{}, invalid("decide: the decision must have an id")
	}
	if h.seen(a.Decision) {
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	}
	i := slices.IndexFunc(h.Tickets, func(t Ticket) bool {
		return t.Call == a.Call && (a.Ticket == 0 || a.Ticket == t.ID)
	})
	if h.Run.ID != a.Run || i < 0 {
		return Effects{}, fmt.Errorf("ticket of call %d of run %s: %w", a.Call, a.Run, ErrNotFound)
	}
	switch h.Tickets[i].Decision {
	case 0:
	case a.Decision:
		return Effects{Unchanged: true, Duplicate: true, Hint: h.wake(c.Now)}, nil
	default:
		return Effects{}, ErrDecided
	}
	h.Tickets[i].Decision = a.Decision
	h.remember(a.Decision)
	h.Run.Calls[a.Call] = CallCancelling
	if a.Resume {
		h.Run.Calls[a.Call] = CallResuming
	}
	if h.Run.Status == Waiting {
		h.resume()
	}
	return Effects{Hint: h.wake(c.Now)}, nil
}

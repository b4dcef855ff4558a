package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Input gives the open run something to read at its next step. A person's
// input on a waiting run supersedes its tickets, but those of child runs, and continues
// the run. Where it waits for child runs alone, the input waits along, as internal input
// does. Without an open run it is ErrNotFound: enqueue instead.
type Input struct {
	ID     core.ID
	Kind   InboxKind
	Owner  string
	Dedupe uint64 // hash of the caller's key, as in Enqueue; 0: known only until a step read it
}

func (c Input) apply(h *Head, t Transition) (Result, error) {
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if c.ID.IsZero() || c.Kind > InboxInternal {
		return Result{}, invalid("input: id %s of kind %d", c.ID, c.Kind)
	}
	if h.seen(c.Dedupe) || h.has(c.ID) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	if !h.Open() || h.Run.Status == Closing {
		return Result{}, fmt.Errorf("open run: %w", ErrNotFound)
	}
	if len(h.Inbox) >= MaxInbox {
		return Result{}, fmt.Errorf("%d messages wait to be read, at most %d are allowed: %w", len(h.Inbox), MaxInbox, ErrFull)
	}
	h.Inbox = append(h.Inbox, InboxEntry{ID: c.ID, Kind: c.Kind})
	h.remember(c.Dedupe)
	h.raise(t)
	if h.Run.Status == Waiting && c.Kind == InboxPerson && h.supersede() {
		h.resume()
	}
	return Result{Hint: h.wake(t.Now)}, nil
}

// resume makes a waiting run claimable.
func (h *Head) resume() {
	h.Run.Status, h.Run.AvailableAt = Running, 0
	h.progress()
}

// Edit replaces input that no step has consumed, an inbox entry or a queued
// dispatch's, by a higher revision, whose text is stored as Q#<id>#<revision>
// before the head. Any higher one will do: what a refused edit left behind
// blocks nobody.
type Edit struct {
	ID       core.ID
	Revision uint32
}

func (c Edit) apply(h *Head, t Transition) (Result, error) {
	revision := h.queued(c.ID)
	if revision == nil {
		return Result{}, fmt.Errorf("unread input %s: %w", c.ID, ErrNotFound)
	}
	if c.Revision == *revision {
		return Result{Unchanged: true, Duplicate: true}, nil
	}
	if c.Revision < *revision {
		return Result{}, fmt.Errorf("revision %d is older than %d: %w", c.Revision, *revision, ErrStale)
	}
	*revision = c.Revision
	h.raise(t)
	return Result{}, nil
}

// Retract takes back an inbox entry that no step has consumed, also after it
// came to wait behind a dispatch that was made of steered input. A dispatch
// itself is cancelled instead.
type Retract struct{ ID core.ID }

func (c Retract) apply(h *Head, _ Transition) (Result, error) {
	for _, list := range h.inboxes() {
		i := slices.IndexFunc(*list.entries, func(e InboxEntry) bool { return e.ID == c.ID })
		if i >= 0 {
			*list.entries = without(*list.entries, i)
			return Result{Before: []Audit{{ID: c.ID, Run: list.run, Status: core.DispatchCancelled}}}, nil
		}
	}
	return Result{}, fmt.Errorf("inbox entry %s: %w", c.ID, ErrNotFound)
}

type inbox struct {
	run     core.ID
	entries *[]InboxEntry
}

// inboxes are the open run's and those of dispatches made of steered input.
func (h *Head) inboxes() []inbox {
	all := []inbox{{h.Run.ID, &h.Inbox}}
	for i := range h.Pending {
		all = append(all, inbox{h.Pending[i].Run, &h.Pending[i].Rest})
	}
	return all
}

// Decide takes a decision on a ticket: a person's or client's, or what the end of a child
// run says on the ticket that waits for it, on which anybody else's is ErrChild. The same
// decision again is a duplicate, also after its call went on; another one is ErrDecided;
// no ticket is ErrNotFound.
type Decide struct {
	Run      core.ID
	Call     uint8
	Ticket   uint64 // see [TicketKey]; 0: whichever the call has
	Decision uint64 // see [DecisionKey]; not 0
	Dedupe   uint64 // another form of the decision's id that is remembered with it; 0: none
	Resume   bool   // false: cancel the call
	Child    bool   // it is the end of a child run
}

func (c Decide) apply(h *Head, t Transition) (Result, error) {
	if c.Decision == 0 {
		return Result{}, invalid("decide: the decision must have an id")
	}
	if h.seen(c.Decision) || h.seen(c.Dedupe) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	i := slices.IndexFunc(h.Tickets, func(t Ticket) bool {
		return t.Call == c.Call && (c.Ticket == 0 || c.Ticket == t.ID)
	})
	if h.Run.ID != c.Run || i < 0 {
		return Result{}, fmt.Errorf("ticket of call %d of run %s: %w", c.Call, c.Run, ErrNotFound)
	}
	switch child := h.Tickets[i].Kind == TicketChild; {
	case child && !c.Child:
		return Result{}, ErrChild
	case !child && c.Child:
		return Result{}, fmt.Errorf("ticket of call %d of run %s that waits for a child run: %w", c.Call, c.Run, ErrNotFound)
	}
	switch h.Tickets[i].Decision {
	case 0:
	case c.Decision:
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	default:
		return Result{}, ErrDecided
	}
	if h.Claim.Fence != 0 && h.Run.Status != Closing { // what runs beside the decision does not depend on it
		running := h.startable()
		h.Run.Through.May |= running
		h.Run.Through.Ran |= running
		h.pruneThrough()
	}
	h.Tickets[i].Decision = c.Decision
	h.remember(c.Decision)
	h.remember(c.Dedupe)
	h.raise(t)
	h.Run.Calls[c.Call] = CallCancelling
	if c.Resume {
		h.Run.Calls[c.Call] = CallResuming
	}
	if h.Run.Status == Waiting && h.goesOn() {
		h.resume()
	}
	return Result{Hint: h.wake(t.Now)}, nil
}

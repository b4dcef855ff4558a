package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Decide takes a decision on a ticket: a person's or client's, or the end of a child
// run on the ticket that waits for it, on which any other decision is ErrChild. The
// same decision again is a duplicate, also after its call has continued; another one
// is ErrDecided; no ticket is ErrNotFound.
type Decide struct {
	Run      core.ID
	Call     uint8
	Ticket   uint64  // see [TicketKey]; 0: the call's ticket
	Decision uint64  // see [DecisionKey]; not 0
	Dedupe   uint64  // another form of the decision's id that is remembered with it; 0: none
	Resume   bool    // false: cancel the call
	Child    core.ID // it is the end of this child run, which leaves the list of its parent; zero: it is another's
}

func (c Decide) apply(h *Head, t Transition) (Result, error) {
	if c.Decision == 0 {
		return Result{}, invalid("decide: the decision must have an id")
	}
	if h.Recent.has(c.Decision) || h.Recent.has(c.Dedupe) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	i := slices.IndexFunc(h.Tickets, func(t Ticket) bool {
		return t.Call == c.Call && (c.Ticket == 0 || c.Ticket == t.ID)
	})
	if h.Run.ID != c.Run || i < 0 {
		return Result{}, fmt.Errorf("ticket of call %d of run %s: %w", c.Call, c.Run, ErrNotFound)
	}
	switch child := h.Tickets[i].Kind == TicketChild; {
	case child && c.Child.IsZero():
		return Result{}, ErrChild
	case !child && !c.Child.IsZero():
		return Result{}, fmt.Errorf("ticket of call %d of run %s that waits for a child run: %w", c.Call, c.Run, ErrNotFound)
	}
	switch h.Tickets[i].Decision {
	case 0:
	case c.Decision:
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	default:
		return Result{}, ErrDecided
	}
	if h.Claim.Fence != 0 { // work that runs at the same time does not depend on the decision
		running := h.Run.startable()
		h.Run.Through.May |= running
		h.Run.Through.Ran |= running
	}
	h.Run.dropChild(c.Child)
	h.Tickets[i].Decision = c.Decision
	h.Recent.add(c.Decision)
	h.Recent.add(c.Dedupe)
	h.raise(t)
	h.Run.Calls[c.Call] = CallCancelling
	if c.Resume {
		h.Run.Calls[c.Call] = CallResuming
	}
	if h.Run.Status == Waiting && h.Run.goesOn(h.Tickets, t.Now) {
		h.Run.resume()
	}
	return Result{Hint: h.wake(t.Now)}, nil
}

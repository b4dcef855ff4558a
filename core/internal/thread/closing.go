package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// CommitClose ends a closing run: every open call has its synthetic or adopted
// result, and the final run record is stored.
type CommitClose struct {
	Fence uint64
	From  uint64 // as in CommitTurn
	Seq   uint64 // of the last record, or the head's if nothing is added
	Sum   uint32 // as in CommitTurn
	// Summary is the one that is in force again if Cut supersedes messages that the
	// newest one covers; 0: none is, or the newest one stays.
	Summary uint64
	Cut     uint64 // as in CommitTurn
	// Schema is the highest one of an adopted result; 0: none was.
	Schema uint16
}

func (c CommitClose) apply(h *Head, t Transition) (Result, error) {
	if err := h.held(c.Fence); err != nil {
		return Result{}, err
	}
	if h.Run.Status != Closing {
		return Result{}, invalid("commit close: run %s is not closing", h.Run.ID)
	}
	if err := startsAt(c.From, h.Seq); err != nil {
		return Result{}, err
	}
	for i := range h.Run.Calls {
		h.Run.Calls[i] = CallDone
	}
	if err := h.advance(c.Seq); err != nil {
		return Result{}, err
	}
	putSum(h, c.From, c.Sum)
	if err := h.summarize(c.Summary, c.Cut, c.From); err != nil {
		return Result{}, err
	}
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	opened, left := h.removeRun(t)
	return Result{Outcome: Done, Opened: opened, Left: left, Hint: h.wake(t.Now)}, nil
}

// beginClosing sets the open run to closing: its holder closes it, or the next claim.
// Its tickets end with it. Input that no step has read ends too when a person ended
// the run; otherwise it is kept for the dispatch that removeRun makes of it.
func (h *Head) beginClosing(reason Reason, t Transition) []Audit {
	if h.Claim.Fence != 0 && reason != ReasonOwn { // its holder may die before it reports so itself
		h.Run.loseRound()
	}
	h.Run.Status, h.Run.Reason, h.Closing, h.ClosingAt = Closing, reason, h.next(), max(t.Now, 0)
	h.Run.AvailableAt = 0
	h.Run.progress() // closing counts its own attempts
	h.Tickets = nil
	if reason == ReasonCancelled || reason == ReasonSuperseded {
		return h.Inbox.cancel(h.Run.ID)
	}
	return nil
}

// removeRun takes the run out of the head. Input that was steered to it and that
// no step has read becomes a dispatch, which opens next and needs no free place:
// the first entry gives its id to dispatch and run, the rest is the run's inbox.
func (h *Head) removeRun(t Transition) (opened core.ID, left *Left) {
	left = oweCancel(h, t)
	h.oweEnd(t, h.Run.ID, h.Run.Child)
	if len(h.Inbox) > 0 {
		first := h.Inbox[0]
		opened = first.ID
		h.Pending = append(h.Pending, Dispatch{
			ID: first.ID, Run: first.ID, Revision: first.Revision, Priority: DefaultPriority,
			Steered: true, Rest: slices.Clone(h.Inbox[1:]),
		})
	}
	h.Run, h.Claim, h.Tickets, h.Inbox = Run{}, Claim{}, nil, nil
	h.Extensions = nil
	return opened, left
}

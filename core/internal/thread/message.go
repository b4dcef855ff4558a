package thread

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Send adds a message to another thread to the outbox. Its receiver and content are the
// record O#<ID>, which is stored before the head. It has no fence: a tool sends it while
// its step is under way, which may take a next fence, and a call that runs again under
// another claim sends the same ID. For an ID that is in the outbox it is a duplicate. A
// message that has left the outbox may be sent again, since its receiver knows the ID.
//
// A ninth message is [ErrTooManyMessages]. [ErrClosing]: the run is ending.
// [ErrNotFound]: it is not open.
type Send struct {
	ID core.ID
	// Run is the run that sends, which must be open. Zero: a message that could not be
	// delivered is sent again, for the Owner of the thread.
	Run   core.ID
	Owner string
}

func (c Send) apply(h *Head, t Transition) (Result, error) {
	switch {
	case c.ID.IsZero():
		return Result{}, invalid("send: the message has no id")
	case !h.Exists():
		return Result{}, fmt.Errorf("thread: %w", ErrNotFound)
	case !c.Run.IsZero() && h.Run.ID != c.Run:
		return Result{}, fmt.Errorf("open run %s: %w", c.Run, ErrNotFound)
	case !c.Run.IsZero() && h.Run.Status == Closing:
		return Result{}, ErrClosing
	}
	if c.Run.IsZero() {
		if err := h.owned(c.Owner); err != nil {
			return Result{}, err
		}
	}
	if h.Outbox.find(c.ID, OutboxMessage) >= 0 {
		return Result{Unchanged: true, Duplicate: true, Hint: c.hint(h, t)}, nil
	}
	if h.Outbox.count(OutboxMessage) >= MaxMessages {
		return Result{}, ErrTooManyMessages
	}
	h.Outbox = append(h.Outbox, OutboxEntry{ID: c.ID, Kind: OutboxMessage, Next: max(t.Now, 0)})
	h.raise(t)
	return Result{Hint: c.hint(h, t)}, nil
}

// hint wakes a worker for the message too, unless one has the run that sends it: that one
// delivers after its step.
func (c Send) hint(h *Head, t Transition) *Hint {
	hint := h.wake(t.Now)
	if !c.Run.IsZero() {
		return hint
	}
	return h.Outbox.hint(t.Now, hint)
}

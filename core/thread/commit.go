package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// InboxRef names an inbox entry at the revision that a step read.
type InboxRef struct {
	ID       core.ID
	Revision uint32
}

// CommitTurn is commit A: it makes an assistant turn with tool calls visible,
// before any of them runs, and reserves the sequences after it for their
// results. Calls of at_most_once tools come as CallRunning, others as CallNew.
type CommitTurn struct {
	Fence    uint64
	Seq      uint64 // of the assistant message
	Calls    []CallStatus
	Consumed []InboxRef
	Summary  uint64 // sequence that a new summary covers; 0: the old one stays in force
}

func (a CommitTurn) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	switch {
	case h.Run.Cursor == CursorTools:
		return Effects{}, invalid("commit turn: the tool round of step %d is still open", h.Run.Step)
	case a.Seq <= h.Seq || a.Seq > MaxSeq-MaxCalls:
		return Effects{}, invalid("commit turn: sequence %d is not after %d", a.Seq, h.Seq)
	case len(a.Calls) == 0 || len(a.Calls) > MaxCalls:
		return Effects{}, invalid("commit turn: %d tool calls, allowed are 1 to %d", len(a.Calls), MaxCalls)
	}
	for i, s := range a.Calls {
		if s != CallNew && s != CallRunning {
			return Effects{}, invalid("commit turn: call %d starts as %s", i, s)
		}
	}
	if err := h.consume(a.Consumed); err != nil {
		return Effects{}, err
	}
	h.Seq = a.Seq
	h.Run.Step++
	h.Run.Cursor = CursorTools
	h.Run.Base = a.Seq + 1
	h.Run.Calls = slices.Clone(a.Calls)
	h.Claim.Attempts = 0
	return Effects{}, h.summarize(a.Summary)
}

// CommitStep is commit B: it moves the head over the step's records and hands
// the run on. What it answers in Effects.Outcome counts, not what was asked:
// Wait becomes Yield when a decision or a person's input has come meanwhile,
// and Done when the inbox is not empty.
//
// Calls are the statuses that the step leaves, nil for no change. Tickets are
// the suspensions that it knows of; those that stand already stay as they are.
// When there are more than places, the last of them get none: their calls are
// CallNew in the new head, and suspend again when a place is free.
type CommitStep struct {
	Fence    uint64
	Outcome  Outcome // Continue, Yield, Wait or Done
	Seq      uint64  // of the last record that becomes visible
	Calls    []CallStatus
	Tickets  []Ticket
	Consumed []InboxRef
	Summary  uint64 // sequence that a new summary covers; 0: the old one stays in force
	Lease    int64  // Continue: the renewed lease, in milliseconds from now
	// Keep makes Continue of what would come to Yield: the holder goes on itself.
	Keep bool
}

func (a CommitStep) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	before := h.position()
	if err := h.consume(a.Consumed); err != nil {
		return Effects{}, err
	}
	if err := h.settle(a.Calls, a.Tickets); err != nil {
		return Effects{}, err
	}
	if err := h.suspend(a.Tickets); err != nil {
		return Effects{}, err
	}
	if err := h.advance(a.Seq); err != nil {
		return Effects{}, err
	}
	if err := h.summarize(a.Summary); err != nil {
		return Effects{}, err
	}
	outcome, err := h.outcome(a.Outcome)
	if err != nil {
		return Effects{}, err
	}
	if outcome == Yield && a.Keep {
		outcome = Continue
	}
	if h.position() != before {
		h.Claim.Attempts = 0
	}
	switch outcome {
	case Continue:
		h.Claim.Lease = max(h.Claim.Lease, c.Now+a.Lease)
		return Effects{Outcome: outcome}, nil
	case Yield:
		h.takeBack()
	case Wait:
		h.Claim = Held{}
		h.Run.Status = Waiting
	case Done:
		h.finish(c.Now)
	}
	return Effects{Outcome: outcome, Hint: h.wake(c.Now)}, nil
}

// position is everything by which a step can show progress.
type position struct {
	seq            uint64
	cursor         Cursor
	inbox, tickets int
	calls          [MaxCalls]CallStatus
}

func (h *Head) position() position {
	p := position{seq: h.Seq, cursor: h.Run.Cursor, inbox: len(h.Inbox), tickets: len(h.Tickets)}
	copy(p.calls[:], h.Run.Calls)
	return p
}

// CommitClose ends a closing run: every open call has its synthetic or adopted
// result, and the final run record is stored.
type CommitClose struct {
	Fence uint64
	Seq   uint64 // of the last result, or the head's when there was none
}

func (a CommitClose) apply(h *Head, c Command) (Effects, error) {
	if err := h.held(a.Fence); err != nil {
		return Effects{}, err
	}
	if h.Run.Status != Closing {
		return Effects{}, invalid("commit close: run %s is not closing", h.Run.ID)
	}
	for i := range h.Run.Calls {
		h.Run.Calls[i] = CallDone
	}
	if err := h.advance(a.Seq); err != nil {
		return Effects{}, err
	}
	h.finish(c.Now)
	return Effects{Outcome: Done, Hint: h.wake(c.Now)}, nil
}

// finish takes the run out of the head.
func (h *Head) finish(now int64) {
	h.tell(h.Run.Parent, h.Run.ID, now)
	h.Run, h.Claim, h.Tickets = Run{}, Held{}, nil
}

// advance moves the head over the step's records. The log stays gap-free: with
// an open call nothing after the turn becomes visible.
func (h *Head) advance(seq uint64) error {
	if seq < h.Seq || seq > MaxSeq {
		return invalid("commit: sequence %d is before %d", seq, h.Seq)
	}
	if h.Run.Cursor != CursorTools {
		if seq > h.Seq { // else nothing is stored, and a run that starts still has its start before it
			h.Run.Step++
			h.Run.Cursor = CursorInfer
		}
		h.Seq = seq
		return nil
	}
	if h.Run.OpenCalls() {
		if seq != h.Seq {
			return invalid("commit: sequence %d while a call of the turn at %d is open", seq, h.Seq)
		}
		return nil
	}
	if last := h.Run.Base + uint64(len(h.Run.Calls)) - 1; seq < last {
		return invalid("commit: sequence %d leaves out results up to %d", seq, last)
	}
	h.Seq = seq
	h.Run.Cursor, h.Run.Base, h.Run.Calls = CursorInfer, 0, nil
	return nil
}

// summarize puts a summary in force, never an older one.
func (h *Head) summarize(upTo uint64) error {
	switch {
	case upTo == 0:
		return nil
	case upTo <= h.Summary || upTo > h.Seq:
		return invalid("commit: summary up to sequence %d, the one in force covers %d and the log ends at %d", upTo, h.Summary, h.Seq)
	}
	h.Summary = upTo
	return nil
}

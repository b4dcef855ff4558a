package thread

import (
	"fmt"
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
}

func (a CommitTurn) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	switch {
	case h.Run.Cursor == CursorTools:
		return Effects{}, invalid("commit turn: the tool round of step %d is still open", h.Run.Step)
	case a.Seq <= h.Seq:
		return Effects{}, invalid("commit turn: sequence %d is not after %d", a.Seq, h.Seq)
	case len(a.Calls) == 0 || len(a.Calls) > MaxCalls:
		return Effects{}, invalid("commit turn: %d tool calls, allowed are 1 to %d", len(a.Calls), MaxCalls)
	}
	for i, s := range a.Calls {
		if s != CallNew && s != CallRunning {
			return Effects{}, invalid("commit turn: call %d starts with status %d", i, s)
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
	return Effects{}, nil
}

// Suspend makes tickets visible while siblings of their calls still run, so
// that a person can answer at once.
type Suspend struct {
	Fence   uint64
	Tickets []Ticket
}

func (a Suspend) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	return Effects{}, h.suspend(a.Tickets)
}

// CommitStep is commit B: it moves the head over the step's records and hands
// the run on. What it answers in Effects.Outcome counts, not what was asked:
// Wait becomes Yield when a decision or input has already come, and so does
// Done with a non-empty inbox.
type CommitStep struct {
	Fence    uint64
	Outcome  Outcome // Continue, Yield, Wait or Done
	Seq      uint64  // of the last record that becomes visible
	Calls    []CallStatus
	Tickets  []Ticket // new ones
	Consumed []InboxRef
	Lease    int64 // Continue: the renewed lease, in milliseconds from now
}

func (a CommitStep) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	if err := h.consume(a.Consumed); err != nil {
		return Effects{}, err
	}
	if err := h.settle(a.Calls); err != nil {
		return Effects{}, err
	}
	if err := h.suspend(a.Tickets); err != nil {
		return Effects{}, err
	}
	if err := h.advance(a.Seq); err != nil {
		return Effects{}, err
	}
	outcome, err := h.outcome(a.Outcome)
	if err != nil {
		return Effects{}, err
	}
	h.Claim.Attempts = 0
	switch outcome {
	case Continue:
		h.Claim.Lease = max(h.Claim.Lease, c.Now+a.Lease)
		return Effects{Outcome: outcome}, nil
	case Yield:
		h.Claim = Held{}
		h.Run.Ready = true
	case Wait:
		h.Claim = Held{}
		h.Run.Status = Waiting
	case Done:
		h.finish(c.Now)
	}
	return Effects{Outcome: outcome, Hint: h.wake(c.Now)}, nil
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
	if h.Run.Parent != nil {
		h.Notify = &Notify{Child: h.Run.ID, Parent: *h.Run.Parent, Retry: now}
	}
	h.Run, h.Claim, h.Tickets = Run{}, Held{}, nil
}

// working checks that fence holds the claim of a run that is not ending.
func (h *Head) working(fence uint64) error {
	if err := h.held(fence); err != nil {
		return err
	}
	if h.Run.Status == Closing {
		return ErrClosing
	}
	return nil
}

// consume removes the inbox entries that the step read.
func (h *Head) consume(refs []InboxRef) error {
	for _, r := range refs {
		i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == r.ID && e.Revision == r.Revision })
		if i < 0 {
			return ErrStale
		}
		h.Inbox = slices.Delete(h.Inbox, i, i+1)
	}
	return nil
}

// settle takes the step's word for each call, but for a decision that came
// while the step still saw the call as suspended.
func (h *Head) settle(calls []CallStatus) error {
	if calls == nil {
		return nil
	}
	if len(calls) != len(h.Run.Calls) {
		return invalid("commit step: %d call statuses for %d calls", len(calls), len(h.Run.Calls))
	}
	for i, s := range calls {
		was := h.Run.Calls[i]
		if was == CallDone && s != CallDone {
			return invalid("commit step: call %d already has its result", i)
		}
		if s == CallSuspended && (was == CallResuming || was == CallCancelling) {
			continue
		}
		h.Run.Calls[i] = s
		if s == CallDone {
			h.Tickets = slices.DeleteFunc(h.Tickets, func(t Ticket) bool { return int(t.Call) == i })
		}
	}
	return nil
}

// suspend adds tickets and marks their calls.
func (h *Head) suspend(tickets []Ticket) error {
	for _, t := range tickets {
		if int(t.Call) >= len(h.Run.Calls) {
			return invalid("suspend: call %d of %d", t.Call, len(h.Run.Calls))
		}
		if h.Run.Calls[t.Call] == CallDone {
			return invalid("suspend: call %d already has its result", t.Call)
		}
		h.Tickets = slices.DeleteFunc(h.Tickets, func(old Ticket) bool { return old.Call == t.Call })
		if len(h.Tickets) >= MaxTickets {
			return fmt.Errorf("%d tickets are open, at most %d: %w", len(h.Tickets), MaxTickets, ErrFull)
		}
		t.Decision = 0
		h.Tickets = append(h.Tickets, t)
		h.Run.Calls[t.Call] = CallSuspended
	}
	return nil
}

// advance moves the head over the step's records. The log stays gap-free: with
// an open call nothing after the turn becomes visible.
func (h *Head) advance(seq uint64) error {
	if seq < h.Seq {
		return invalid("commit: sequence %d is before %d", seq, h.Seq)
	}
	if h.Run.Cursor != CursorTools {
		if seq > h.Seq {
			h.Run.Step++
		}
		h.Seq = seq
		h.Run.Cursor = CursorInfer
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

// outcome says what the asked outcome comes to.
func (h *Head) outcome(asked Outcome) (Outcome, error) {
	decided := slices.ContainsFunc(h.Run.Calls, func(s CallStatus) bool { return s == CallResuming || s == CallCancelling })
	switch asked {
	case Continue, Yield:
		return asked, nil
	case Wait:
		if decided || len(h.Inbox) > 0 {
			return Yield, nil
		}
		if !slices.Contains(h.Run.Calls, CallSuspended) {
			return 0, invalid("commit step: nothing to wait for")
		}
		if slices.ContainsFunc(h.Run.Calls, func(s CallStatus) bool { return s == CallRunning }) {
			return 0, invalid("commit step: a call still runs")
		}
		return Wait, nil
	case Done:
		if h.Run.OpenCalls() {
			return 0, invalid("commit step: done with open calls")
		}
		if len(h.Inbox) > 0 {
			return Yield, nil
		}
		return Done, nil
	}
	return 0, invalid("commit step: unknown outcome %d", asked)
}

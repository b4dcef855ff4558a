package thread

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// DefaultPriority is a dispatch's priority if none is given; 0 is first, 255 last.
const DefaultPriority = 128

// Enqueue adds a run to the thread's queue. The first one makes the thread. A run
// that may not open yet when it is accepted is delayed: it is not part of the queue
// and has a separate place, of [MaxDelayed], until it opens. Nothing waits for it
// before it is due, and an end of the open run or the queue leaves it, unless it is
// named.
type Enqueue struct {
	Dispatch    core.ID
	Run         core.ID
	Priority    uint8
	AvailableAt int64  // unix milliseconds; 0 and what has passed: at once
	Dedupe      uint64 // hash of the caller's key; 0: none
	Owner       string // user on whose behalf it happens
	RejectBusy  bool   // ErrBusy instead of queueing
	Child       bool   // a run of another thread waits for its end; not of a delayed one
}

func (c Enqueue) apply(h *Head, t Transition) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if h.knows(c) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	if c.RejectBusy && h.Busy(t.Now) {
		return Result{}, ErrBusy
	}
	if err := h.queue().place(c, t.Now, h.Outbox.count(OutboxChildEnded)); err != nil {
		return Result{}, err
	}
	if !h.Exists() {
		h.Owner = c.Owner
	}
	h.Recent.add(c.Dedupe)
	h.raise(t)
	return Result{Hint: h.wake(t.Now)}, nil
}

// check bounds what comes from outside, so that no head outgrows MaxSize.
func (c Enqueue) check() error {
	switch {
	case c.Dispatch.IsZero() || c.Run.IsZero():
		return invalid("enqueue: dispatch and run must have ids")
	case len(c.Owner) > wire.MaxName:
		return invalid("enqueue: owner of %d bytes, at most %d are allowed", len(c.Owner), wire.MaxName)
	}
	return nil
}

// knows reports whether the same dispatch was accepted before: by its key, or
// because it is still here after the key was forgotten.
func (h *Head) knows(c Enqueue) bool { return h.Recent.has(c.Dedupe) || h.has(c.Dispatch) }

// has reports whether an input is in the head: unread, or as the input that the open
// run started with. Input that was steered to one run may start another, so that a
// repeated Enqueue or Input meets it in either place.
func (h *Head) has(id core.ID) bool { return h.Run.Dispatch == id || h.unread(id) != nil }

// EnqueueAndClaim enqueues and, if nothing else is open, queued or delayed and due,
// claims in the same write: an inline run. Otherwise, or when the program does not
// understand the thread's records, it only enqueues and Claimed is false. A claimed
// run has no hint: see [Head.SecondAt].
type EnqueueAndClaim struct {
	Enqueue Enqueue
	Worker  string
	Lease   int64 // milliseconds from now
}

func (c EnqueueAndClaim) apply(h *Head, t Transition) (Result, error) {
	free := !h.Busy(t.Now)
	result, err := c.Enqueue.apply(h, t)
	if err != nil || result.Unchanged || !free || c.Enqueue.AvailableAt > t.Now || h.Schema > t.Schemas.Reads {
		return result, err
	}
	h.openRun(&h.Pending, 0)
	if err := h.hold(c.Worker, c.Lease, t); err != nil {
		return Result{}, err
	}
	h.SecondAt = 0 // one of the run before does not make this one a worker's
	return Result{Claimed: true}, nil
}

package thread

import (
	"encoding/binary"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Command is one change of a head.
type Command struct {
	Now      int64   // unix milliseconds, from Env
	CommitID core.ID // fresh for every command, from Env
	Due      DuePolicy
	Action   Action
}

// DuePolicy says how precisely a backend indexes when a thread is due, in
// milliseconds. The zero value is exact; DynamoDB uses a grace of two minutes
// and rounds up to the minute, so that quick transitions do not touch the index.
type DuePolicy struct {
	Grace int64
	Round int64
}

// Action is what a command does; the implementations are the exported structs
// of this package with an apply method.
type Action interface {
	apply(h *Head, c Command) (Effects, error)
}

// Effects is what follows from a command.
type Effects struct {
	// Unchanged: there is nothing to write; the rest still holds.
	Unchanged bool
	// Duplicate: the same dispatch, input or decision was accepted before.
	Duplicate bool
	// Before must be stored before the head: how dispatches ended that no run
	// record will tell of.
	Before []Audit
	// Hint is to be sent after the head is written; nil: none.
	Hint *Hint
	// Claimed: the command took the claim; its fence is the new head's.
	Claimed bool
	// Outcome of a CommitStep.
	Outcome Outcome
}

// Hint asks for a wake-up of the thread.
type Hint struct {
	Dispatch core.ID
	At       int64 // 0: at once
}

// Audit says how a dispatch ended without being run to its end.
type Audit struct {
	Dispatch core.ID
	Run      core.ID
	Status   core.DispatchStatus
}

// Outcome is how a step ended.
type Outcome uint8

// The outcomes. Continue is a Yield that keeps the claim.
const (
	Continue Outcome = iota + 1
	Yield            // the continuation is set, the claim released
	Wait             // tickets stand, nothing is claimed
	Done             // the run is over
)

// String returns the outcome's name.
func (o Outcome) String() string {
	return name(o, "none", "continue", "yield", "wait", "done")
}

// Apply answers what a command makes of a thread's head. It does no I/O and
// reads no clock. On an error the head is returned as it was.
func Apply(h Head, c Command) (Head, Effects, error) {
	if h.Schema > SchemaNumber {
		return h, Effects{}, fmt.Errorf("schema %d, newest known %d: %w", h.Schema, SchemaNumber, ErrSchema)
	}
	if h.Deleted {
		switch c.Action.(type) {
		case Delete, Notified:
		default:
			return h, Effects{}, ErrDeleted
		}
	}
	n := h.clone()
	effects, err := c.Action.apply(&n, c)
	if err != nil {
		return h, Effects{}, err
	}
	if effects.Unchanged {
		return h, effects, nil
	}
	if !h.Exists() {
		n.Incarnation = binary.BigEndian.Uint64(c.CommitID[8:])
	}
	n.Schema = SchemaNumber
	n.Version = h.Version + 1
	n.CommitID = c.CommitID
	n.DueAt = n.due(h.DueAt, c)
	if n.bound() > MaxSize {
		if size := n.Size(); size > MaxSize {
			return h, Effects{}, fmt.Errorf("%d bytes, at most %d: %w", size, MaxSize, ErrTooLarge)
		}
	}
	return n, effects, nil
}

// due says when the sweep must look at the thread. The old value stays while
// it is neither late nor past, so that an index on it is touched rarely.
func (h *Head) due(old int64, c Command) int64 {
	at, ok := h.earliest()
	if !ok {
		return 0
	}
	at = max(at, c.Now+c.Due.Grace, 1)
	if round := c.Due.Round; round > 0 {
		at = (at + round - 1) / round * round
	}
	if old > c.Now && old <= at && c.Due.Round > 0 {
		return old
	}
	return at
}

// earliest is the first time at which somebody could do something for the
// thread; 0 means now.
func (h *Head) earliest() (at int64, ok bool) {
	note := func(t int64) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if h.Notify != nil {
		note(h.Notify.Retry)
	}
	switch {
	case h.Deleted:
		if !h.Erased {
			note(0)
		}
	case h.Claim.Fence != 0:
		note(h.Claim.Lease + 1)
	case !h.Open():
		for _, d := range h.Pending {
			note(d.AvailableAt)
		}
	case h.Run.Ready:
		note(h.Run.AvailableAt)
	case h.Run.Status == Waiting:
		for _, t := range h.Tickets {
			if t.Deadline != 0 && t.Decision == 0 {
				note(t.Deadline)
			}
		}
	}
	return at, ok
}

// wake returns the hint for what could be claimed next, nil when nothing can.
func (h *Head) wake(now int64) *Hint {
	if h.Deleted || h.Live(now) {
		return nil
	}
	if h.Claim.Fence != 0 { // its holder is gone
		return &Hint{Dispatch: h.Claim.Dispatch}
	}
	later := func(dispatch core.ID, at int64) *Hint {
		if at <= now {
			at = 0
		}
		return &Hint{Dispatch: dispatch, At: at}
	}
	if h.Open() {
		switch {
		case h.Run.Ready:
			return later(h.Run.Dispatch, h.Run.AvailableAt)
		case h.overdue(now):
			return later(h.Run.Dispatch, 0)
		}
		return nil
	}
	if i := h.best(now); i >= 0 {
		return later(h.Pending[i].ID, 0)
	}
	var next *Hint
	for _, d := range h.Pending {
		if next == nil || d.AvailableAt < next.At {
			next = &Hint{Dispatch: d.ID, At: d.AvailableAt}
		}
	}
	return next
}

// best is the index of the pending dispatch to open next: lowest priority
// number first, then in the order of the queue, so that none starves behind
// later ones of its priority; -1 when none is available.
func (h *Head) best(now int64) int {
	best := -1
	for i, d := range h.Pending {
		if d.AvailableAt <= now && (best < 0 || d.Priority < h.Pending[best].Priority) {
			best = i
		}
	}
	return best
}

package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// InboxEntry is input that waits for the open run's next step. Its text is
// Q#<id>#<revision>.
type InboxEntry struct {
	ID       core.ID
	Revision uint32
	Kind     InboxKind
}

// InboxKind is the origin of the input.
type InboxKind uint8

// The inbox kinds.
const (
	InboxPerson InboxKind = iota
	InboxInternal
)

// Inbox is input that waits for one run, in the order in which it came.
type Inbox []InboxEntry

// find is the index of an entry; -1: it is not there.
func (in Inbox) find(id core.ID) int {
	return slices.IndexFunc(in, func(e InboxEntry) bool { return e.ID == id })
}

// spoken reports whether a person's input waits for the run's next step.
func (in Inbox) spoken() bool {
	return slices.ContainsFunc(in, func(e InboxEntry) bool { return e.Kind == InboxPerson })
}

// InboxRef names an inbox entry at the revision that a step read, and the
// sequence of the log record that holds it from this commit on.
type InboxRef struct {
	ID       core.ID
	Revision uint32
	Seq      uint64
}

// consume removes the entries that the step read and returns their places. Each must
// be in a record that the commit makes visible, after from and up to seq: else it
// would be gone from the head and not yet in the log.
func (in *Inbox) consume(refs []InboxRef, run core.ID, from, seq uint64) (read []Audit, err error) {
	for _, r := range refs {
		if r.Seq <= from || r.Seq > seq {
			return nil, invalid("commit: input %s is read at sequence %d, the commit makes %d to %d visible", r.ID, r.Seq, from+1, seq)
		}
		i := slices.IndexFunc(*in, func(e InboxEntry) bool { return e.ID == r.ID && e.Revision == r.Revision })
		if i < 0 {
			return nil, ErrStale
		}
		*in = without(*in, i)
		read = append(read, Audit{ID: r.ID, Run: run, Read: r.Seq, Status: core.DispatchAcked})
	}
	return read, nil
}

// cancel ends what the run has not read, visibly.
func (in *Inbox) cancel(run core.ID) (audits []Audit) {
	for _, e := range *in {
		audits = append(audits, Audit{ID: e.ID, Run: run, Status: core.DispatchCancelled})
	}
	*in = nil
	return audits
}

// Input gives the open run something to read at its next step. A person's
// input on a waiting run supersedes its tickets, but those of child runs, and continues
// the run. Where it waits for child runs alone, the input waits along, as internal input
// does. Without an open run it is ErrNotFound: enqueue instead.
type Input struct {
	ID     core.ID
	Kind   InboxKind
	Owner  string
	Dedupe uint64 // hash of the caller's key, as in Enqueue; 0: known only until a step read it
	// Child is the child run whose end it tells of, which leaves the list of its parent; zero: it
	// tells of none.
	Child core.ID
}

func (c Input) apply(h *Head, t Transition) (Result, error) {
	if err := h.owned(c.Owner); err != nil {
		return Result{}, err
	}
	if c.ID.IsZero() || c.Kind > InboxInternal {
		return Result{}, invalid("input: id %s of kind %d", c.ID, c.Kind)
	}
	if h.Recent.has(c.Dedupe) || h.has(c.ID) {
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	}
	if !h.Open() || h.Run.Status == Closing {
		return Result{}, fmt.Errorf("open run: %w", ErrNotFound)
	}
	if len(h.Inbox) >= MaxInbox {
		return Result{}, fmt.Errorf("%d messages wait to be read, at most %d are allowed: %w", len(h.Inbox), MaxInbox, ErrFull)
	}
	h.Inbox = append(h.Inbox, InboxEntry{ID: c.ID, Kind: c.Kind})
	h.Run.dropChild(c.Child)
	h.Recent.add(c.Dedupe)
	h.raise(t)
	if h.Run.Status == Waiting && c.Kind == InboxPerson && h.Run.supersede(&h.Tickets) {
		h.Run.resume()
	}
	return Result{Hint: h.wake(t.Now)}, nil
}

// Edit replaces input that no step has consumed, an inbox entry or a queued
// dispatch's, by a higher revision, whose text is stored as Q#<id>#<revision> before
// the head. Any higher one will do: the record of a refused edit blocks no later one.
type Edit struct {
	ID       core.ID
	Revision uint32
}

func (c Edit) apply(h *Head, t Transition) (Result, error) {
	revision := h.unread(c.ID)
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

// Retract withdraws an inbox entry that no step has consumed, also after it started
// to wait for a dispatch of steered input. A dispatch itself is cancelled instead.
type Retract struct{ ID core.ID }

func (c Retract) apply(h *Head, _ Transition) (Result, error) {
	run, in := h.inboxOf(c.ID)
	if in == nil {
		return Result{}, fmt.Errorf("inbox entry %s: %w", c.ID, ErrNotFound)
	}
	*in = without(*in, in.find(c.ID))
	return Result{Before: []Audit{{ID: c.ID, Run: run, Status: core.DispatchCancelled}}}, nil
}

// inboxOf finds the inbox that has an entry, and the run that is to read it: the open
// one, or that of a dispatch of steered input. nil: none has it.
func (h *Head) inboxOf(id core.ID) (run core.ID, in *Inbox) {
	if h.Inbox.find(id) >= 0 {
		return h.Run.ID, &h.Inbox
	}
	for i := range h.Pending {
		if d := &h.Pending[i]; d.Rest.find(id) >= 0 {
			return d.Run, &d.Rest
		}
	}
	return core.ID{}, nil
}

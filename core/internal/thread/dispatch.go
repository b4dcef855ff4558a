package thread

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Dispatch is queued work: a run that no worker has opened yet.
type Dispatch struct {
	ID          core.ID
	Run         core.ID
	Revision    uint32 // of its queued input
	Priority    uint8
	AvailableAt int64 // of a delayed one: when it may open; else 0
	Child       bool  // as in Run; never of a delayed one
	// Steered: it was given to a run that ended before a step read it. It opens next
	// for every priority, and Rest becomes its run's inbox.
	Steered bool
	Rest    Inbox
}

// queue is the runs of a head that no worker has opened: those in line, and the delayed
// ones.
type queue struct{ pending, delayed *[]Dispatch }

func (h *Head) queue() queue { return queue{&h.Pending, &h.Delayed} }

// place puts a run in line, or keeps it for later. ends is how many runs that are
// over have parents still to be notified: all but one of them take a place.
func (q queue) place(c Enqueue, now int64, ends int) error {
	if c.AvailableAt > now {
		return q.delay(c)
	}
	places := len(*q.pending) + max(ends-1, 0)
	if slices.ContainsFunc(*q.pending, func(d Dispatch) bool { return d.Steered }) {
		places-- // it came in outside the limit
	}
	if places >= MaxPending {
		return fmt.Errorf("%d runs are queued, at most %d are allowed: %w", places, MaxPending, ErrFull)
	}
	*q.pending = append(*q.pending, Dispatch{ID: c.Dispatch, Run: c.Run, Priority: c.Priority, Child: c.Child})
	return nil
}

// delay keeps a run for later.
func (q queue) delay(c Enqueue) error {
	switch {
	case c.Child: // the place of its outbox entry is kept in the queue
		return invalid("enqueue: a delayed run has no parent")
	case len(*q.delayed) >= MaxDelayed:
		return fmt.Errorf("%d runs are delayed, at most %d are allowed: %w", len(*q.delayed), MaxDelayed, ErrFull)
	}
	*q.delayed = append(*q.delayed, Dispatch{ID: c.Dispatch, Run: c.Run, Priority: c.Priority, AvailableAt: c.AvailableAt})
	return nil
}

// find returns the list of unopened runs that has one, and its place in it; nil: none
// has it.
func (q queue) find(run core.ID) (list *[]Dispatch, i int) {
	is := func(d Dispatch) bool { return d.Run == run }
	for _, list = range [...]*[]Dispatch{q.pending, q.delayed} {
		if i = slices.IndexFunc(*list, is); i >= 0 {
			return list, i
		}
	}
	return nil, i
}

// dispatch returns the one of an id; nil: it is not there.
func (q queue) dispatch(id core.ID) *Dispatch {
	is := func(d Dispatch) bool { return d.ID == id }
	if i := slices.IndexFunc(*q.pending, is); i >= 0 {
		return &(*q.pending)[i]
	}
	if i := slices.IndexFunc(*q.delayed, is); i >= 0 {
		return &(*q.delayed)[i]
	}
	return nil
}

// best finds the dispatch to open next: input that was steered to a run that ended,
// else the lowest priority number. Among equal ones it takes a delayed one that is
// due, the longest due first, and then the order of the queue, so that none starves
// after later ones of its priority. nil when none is available.
func (q queue) best(now int64) (list *[]Dispatch, i int) {
	var best *Dispatch
	for k := range *q.pending {
		d := &(*q.pending)[k]
		if d.Steered {
			return q.pending, k
		}
		if best == nil || d.Priority < best.Priority {
			best, list, i = d, q.pending, k
		}
	}
	for k := range *q.delayed {
		d := &(*q.delayed)[k]
		if d.AvailableAt <= now && (best == nil || d.before(best)) {
			best, list, i = d, q.delayed, k
		}
	}
	return list, i
}

// before reports whether a delayed dispatch that is due opens before another one.
func (d *Dispatch) before(other *Dispatch) bool {
	if d.Priority != other.Priority {
		return d.Priority < other.Priority
	}
	return d.AvailableAt < other.AvailableAt || other.AvailableAt == 0 // a queued one has none
}

package thread

import (
	"math"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// OutboxEntry is a notice that a thread still owes others. It is in the head from the
// write that causes it until it is delivered, or has no receiver any more. Its
// receiver and content lie in records: in the run's, in that of its input if it has
// none, or in O#<id>: see [OutboxRecord].
type OutboxEntry struct {
	// ID is that of the run that it is about; of [OutboxWaiting] it is the commit id of
	// the write by which the open run waits, of [OutboxCancel] it is [Left].ID, and of a
	// message it is the message's own.
	ID    core.ID
	Kind  OutboxKind
	Tries uint8 // how many have failed, 255 at most
	Next  int64 // when it is to be tried next, unix milliseconds
}

// OutboxKind is the kind of a notice, which implies its receiver.
type OutboxKind uint8

// The kinds of outbox entries. The last three are announcements, to subscribers to
// the progress of runs: a head has them only of writes with Transition.Announce. A
// head may also have kinds that only a newer program knows. Those are carried along
// and are not due.
const (
	OutboxChildEnded   OutboxKind = iota + 1 // a child run is over: to its parent
	OutboxCancel                             // a run is over: to the children that it has left
	OutboxMessage                            // a message: to another thread of the tenant and owner
	OutboxWaiting                            // the open run waits for a person or a client
	OutboxEnded                              // the run is over
	OutboxDeadLettered                       // the run is given up after MaxAttempts claims without progress
)

// The maximum number of outbox entries of a kind. Each kind has its own places, and
// all but messages never run out of them: see [Enqueue] and [MaxAnnounced].
const (
	// MaxAnnounced is how many announcements a head holds. A run that waits again, or
	// ends, withdraws its earlier announcement that it waits; beyond that the oldest
	// announcement is dropped, and the oldest remaining one counts it: see
	// Head.Missed. Nothing is refused for lack of a place here.
	MaxAnnounced = 4
	// MaxMessages is how many messages a head holds: see [ErrTooManyMessages].
	MaxMessages = 8

	maxEnds   = maxQueued + 1 // runs that were queued, and the open one
	maxOutbox = 2*maxEnds + MaxMessages + MaxAnnounced
)

const (
	// announceGrace is the time in milliseconds in which a holder that has made an
	// announcement delivers it itself, before others look after it.
	announceGrace = 2_000
)

// Announces reports whether the entry is an announcement.
func (e OutboxEntry) Announces() bool { return e.Kind >= OutboxWaiting && e.Kind <= OutboxDeadLettered }

// Delivers reports whether this program delivers entries of the kind. Others stay in
// the head for a newer one, and are not due.
func (e OutboxEntry) Delivers() bool {
	return e.Kind >= OutboxChildEnded && e.Kind <= OutboxDeadLettered
}

// Outbox is what a thread owes others, oldest first.
type Outbox []OutboxEntry

// count is how many entries of a kind there are.
func (o Outbox) count(kind OutboxKind) (n int) {
	for _, e := range o {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// announced is how many announcements there are.
func (o Outbox) announced() (n int) {
	for _, e := range o {
		if e.Announces() {
			n++
		}
	}
	return n
}

// oldest is the index of the oldest announcement; -1: no announcement.
func (o Outbox) oldest() int { return slices.IndexFunc(o, OutboxEntry.Announces) }

// find is the index of an entry; -1: it does not exist.
func (o Outbox) find(id core.ID, kind OutboxKind) int {
	return slices.IndexFunc(o, func(e OutboxEntry) bool { return e.ID == id && e.Kind == kind })
}

// OwesRecords reports whether an entry is owed whose receiver or content lies in
// records of the thread: they must not be erased before. The progress of a deleted
// thread's runs is announced without them.
func (o Outbox) OwesRecords() bool {
	return slices.ContainsFunc(o, func(e OutboxEntry) bool { return !e.Announces() })
}

// hint is the hint of a write by code that delivers nothing itself: when the write
// has left something to be delivered and nothing to claim now, it wakes a worker for
// that. The next worker sends a hint for later work.
func (o Outbox) hint(now int64, hint *Hint) *Hint {
	if hint != nil && hint.At == 0 {
		return hint
	}
	for _, e := range o {
		if e.Delivers() && e.Next <= now {
			return &Hint{}
		}
	}
	return hint
}

// SaysMissed is how many announcements were dropped before this one, if it is the one
// that counts them: the oldest.
func (h *Head) SaysMissed(e OutboxEntry) uint16 {
	if i := h.Outbox.oldest(); i < 0 || i != h.Outbox.find(e.ID, e.Kind) {
		return 0
	}
	return h.Missed
}

// oweEnd adds the notices of the end of a run: the one to a parent about its child,
// and the announcement. The first is never refused: Enqueue keeps a place for each.
func (h *Head) oweEnd(t Transition, run core.ID, child bool) {
	if child {
		h.Outbox = append(h.Outbox, OutboxEntry{ID: run, Kind: OutboxChildEnded, Next: max(t.Now, 0)})
	}
	h.announce(t, OutboxEnded, run)
}

// announce adds an announcement of a run, if there are subscribers. An announcement
// of the open run takes the place of one that it waits.
func (h *Head) announce(t Transition, kind OutboxKind, run core.ID) {
	if !t.Announce || run.IsZero() {
		return
	}
	e := OutboxEntry{ID: run, Kind: kind, Next: max(t.Now, 0)}
	if kind == OutboxWaiting { // another wait of the run is another announcement
		e.ID = t.CommitID
	}
	if t.Change.kind().Worker {
		e.Next += announceGrace // the holder does so
	}
	if run == h.Run.ID {
		h.Outbox = slices.DeleteFunc(h.Outbox, func(o OutboxEntry) bool { return o.Kind == OutboxWaiting })
	}
	h.Outbox = append(h.Outbox, e)
	for h.Outbox.announced() > MaxAnnounced {
		h.Outbox = without(h.Outbox, h.Outbox.oldest())
		h.Missed = uint16(min(int(h.Missed)+1, math.MaxUint16))
	}
}

// Delivered clears an outbox entry that was delivered, or has no receiver any more,
// or sets the time of its next attempt. For an entry that is gone it is a duplicate.
// It sends no hint: the worker sends one for all that is left when it has tried every
// entry.
type Delivered struct {
	ID   core.ID
	Kind OutboxKind
	Next int64 // it was not delivered: not before then, unix milliseconds; 0: it was
	// Failed counts the try with Next as one that has failed.
	Failed bool
	// Was makes the change a duplicate, without effect, unless the entry's Next is
	// still this: that of a worker that is about to deliver, and that of an attempt that was
	// in vain, which counts once however many workers have made it. 0: any Next.
	Was int64
	// Missed is how many dropped announcements a delivered one has told of.
	Missed uint16
}

func (c Delivered) apply(h *Head, t Transition) (Result, error) {
	i := h.Outbox.find(c.ID, c.Kind)
	if i < 0 || c.Next != 0 && c.Next == h.Outbox[i].Next || c.Was != 0 && c.Was != h.Outbox[i].Next {
		return Result{Unchanged: true, Duplicate: true}, nil
	}
	if c.Next == 0 {
		h.Outbox = without(h.Outbox, i)
		h.Missed -= min(c.Missed, h.Missed)
		return Result{}, nil
	}
	h.Outbox[i].Next = max(c.Next, 0)
	if c.Failed {
		h.Outbox[i].Tries = oneMore(h.Outbox[i].Tries)
	}
	return Result{}, nil
}

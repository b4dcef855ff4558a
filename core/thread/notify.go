package thread

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Notify is something that a thread still has to tell: to the parent of a child run
// that is over, or to whoever listens for what happens to runs. It stands in the head
// from the write that makes it true until it was told.
type Notify struct {
	Child   core.ID // the run that it is about
	Kind    NotifyKind
	Parent  Parent // of NotifyParent: who waits for the run
	Version uint64 // of the others: of the write that it came with
	At      int64  // of the others: when that was
	// Missed is how many announcements of the thread were dropped before this one,
	// because too many stood: see [MaxAnnounced].
	Missed uint16
	Retry  int64 // not before then
}

// NotifyKind says what is to be told, and to whom.
type NotifyKind uint8

// The kinds of notifies. All but the first are announcements, which a head has only of
// writes with Transition.Announce.
const (
	NotifyParent       NotifyKind = iota // a child run is over: to its parent
	NotifyWaiting                        // the run waits for a person or a client
	NotifyEnded                          // the run is over
	NotifyDeadLettered                   // the run is given up after MaxAttempts claims without progress
)

const (
	// MaxAnnounced is how many announcements a head holds. A run that waits again, or
	// ends, takes back that it waited before; beyond that the oldest announcement goes,
	// and the next one says so. Nothing is refused for want of place here.
	MaxAnnounced = 4
	// announceGrace is the time in milliseconds in which a holder that has made an
	// announcement tells it itself, before others look after it.
	announceGrace = 2_000

	// hintWithin is how many milliseconds ahead a hint is worth one: what is later is
	// the sweep's, and no queue keeps it for so long.
	hintWithin = 600_000

	maxTime = 1<<48 - 1 // of an announcement, as it is encoded
)

// Announces reports whether the notify is an announcement.
func (n *Notify) Announces() bool { return n.Kind != NotifyParent }

// Notifies are what the thread has to tell, oldest first.
func (h *Head) Notifies() []Notify {
	if h.Notify == nil {
		return nil
	}
	return append([]Notify{*h.Notify}, h.Later...)
}

// keep makes list what the head has to tell.
func (h *Head) keep(list []Notify) {
	h.Notify, h.Later = nil, nil
	if len(list) == 0 {
		return
	}
	first := list[0]
	h.Notify = &first
	if len(list) > 1 {
		h.Later = list[1:]
	}
}

// parents is how many of the notifies are for parents.
func (h *Head) parents() (n int) {
	for _, k := range h.Notifies() {
		if !k.Announces() {
			n++
		}
	}
	return n
}

// tell leaves what follows from the end of a run: a notify for its parent, and the
// announcement of its end. The first is never refused: Enqueue keeps a place for each.
func (h *Head) tell(t Transition, parent *Parent, run core.ID) {
	if parent != nil {
		h.owe(Notify{Child: run, Parent: *parent, Retry: t.Now})
	}
	h.announce(t, NotifyEnded, run)
}

// announce leaves an announcement of a run, if there is somebody for it.
func (h *Head) announce(t Transition, kind NotifyKind, run core.ID) {
	if !t.Announce || run.IsZero() {
		return
	}
	n := Notify{Child: run, Kind: kind, Version: h.next(), At: min(max(t.Now, 0), maxTime), Retry: t.Now}
	if _, claims := t.Change.(TakeClaim); claims || ByHolder(t.Change) {
		n.Retry += announceGrace // the holder does so
	}
	h.keep(slices.DeleteFunc(h.Notifies(), func(o Notify) bool { return o.Child == run && o.Kind == NotifyWaiting }))
	h.owe(n)
}

// owe adds a notify. Announcements make room: of one another, and for a parent's.
func (h *Head) owe(n Notify) {
	list := append(h.Notifies(), n)
	announced := 0
	for i := range list {
		if list[i].Announces() {
			announced++
		}
	}
	for announced > MaxAnnounced || announced > 0 && len(list) > 1+maxLater {
		i := slices.IndexFunc(list, func(o Notify) bool { return o.Announces() })
		missed := int(list[i].Missed) + 1
		list = slices.Delete(list, i, i+1)
		announced--
		if j := slices.IndexFunc(list, func(o Notify) bool { return o.Announces() }); j >= 0 {
			list[j].Missed = uint16(min(int(list[j].Missed)+missed, math.MaxUint16))
		}
	}
	h.keep(list)
}

// tellBy is the hint of a write by somebody who tells nobody himself: when the write
// has left something to be told and nothing to claim now, it wakes a worker for that.
// What begins later gets another hint from whoever comes.
func (h *Head) tellBy(t Transition, hint *Hint) *Hint {
	if hint != nil && hint.At <= t.Now {
		return hint
	}
	for _, n := range h.Notifies() {
		if n.Retry <= t.Now {
			return &Hint{}
		}
	}
	return hint
}

// Notified clears a notify that was told, or says when it is to be tried again. One
// that does not stand any more is a duplicate.
type Notified struct {
	Child   core.ID
	Kind    NotifyKind
	Version uint64 // of an announcement
	Retry   int64  // it was not told: not before then; 0: it was
	// Was makes the change one of a teller that is about to begin: it stands aside, as a
	// duplicate, unless the notify's Retry is still this. 0: it has told, or failed to.
	Was int64
}

func (c Notified) apply(h *Head, t Transition) (Result, error) {
	list := h.Notifies()
	i := slices.IndexFunc(list, func(n Notify) bool {
		return n.Child == c.Child && n.Kind == c.Kind && n.Version == c.Version
	})
	switch {
	case i < 0 || c.Retry != 0 && c.Retry == list[i].Retry || c.Was != 0 && c.Was != list[i].Retry:
		return Result{Unchanged: true, Duplicate: true, Hint: h.wake(t.Now)}, nil
	case c.Retry != 0:
		list[i].Retry = c.Retry
		h.keep(list)
		if c.Was != 0 || c.Retry-t.Now > hintWithin { // a teller hints when it knows more
			return Result{}, nil
		}
		return Result{Hint: &Hint{At: c.Retry}}, nil
	}
	h.keep(slices.Delete(list, i, i+1))
	return Result{}, nil
}

// An announcement is encoded where a parent would be, of a thread without a name: its
// kind is the call, and the other numbers are the run.

func (n *Notify) encoded() Parent {
	if !n.Announces() {
		return n.Parent
	}
	p := Parent{Call: uint8(n.Kind)}
	binary.BigEndian.PutUint64(p.Run[:8], n.Version)
	binary.BigEndian.PutUint64(p.Run[8:], uint64(n.At)<<16|uint64(n.Missed))
	return p
}

func (n *Notify) decode(p Parent) {
	if p.Thread != "" || p.Call < uint8(NotifyWaiting) || p.Call > uint8(NotifyDeadLettered) {
		n.Parent = p
		return
	}
	last := binary.BigEndian.Uint64(p.Run[8:])
	n.Kind, n.Version = NotifyKind(p.Call), binary.BigEndian.Uint64(p.Run[:8])
	n.At, n.Missed = int64(last>>16), uint16(last)
}

package window

import (
	"reflect"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
)

// Kept are the messages of a thread's newest request, where they are not the history's own
// slice: the next request under the same window adds what is new. One step at a time may use
// it, see [Kept.Borrow].
type Kept struct {
	taken    atomic.Bool
	messages stretch // for models
	apart    stretch // for transforms of plugins, which might write into it
}

// Borrow returns what a step may use until it calls Release: k, or something empty if k is nil
// or another step uses it.
func (k *Kept) Borrow() *Kept {
	if k == nil || !k.taken.CompareAndSwap(false, true) {
		k = new(Kept)
		k.taken.Store(true)
	}
	return k
}

// Release lets the next step borrow it.
func (k *Kept) Release() { k.taken.Store(false) }

// Messages returns the messages that are shown, without capacity to append: they must not be
// changed. Nothing may follow them.
func (k *Kept) Messages(s *Shown) []core.Message { return k.messages.follow(s) }

// Apart returns the same messages in a slice that nothing else has. If it is changed or
// handed on, [Kept.Forget] must be called.
func (k *Kept) Apart(s *Shown) []core.Message { return k.apart.follow(s) }

// Forget drops the slice of Apart.
func (k *Kept) Forget() { k.apart = stretch{} }

// Size is what the messages take in memory, without their texts, in bytes.
func (k *Kept) Size() int {
	return (cap(k.messages.items) + cap(k.apart.items)) * int(reflect.TypeFor[core.Message]().Size())
}

// stretch is the messages that a request has shown.
type stretch struct {
	items      []core.Message
	lead       int    // so many of them are not the history's
	from, upTo uint64 // sequences of the history's first and newest message among them
	short      uint64
	reads      bool
}

// follow makes it the messages that are shown now. Slices that it has returned stay what they
// are.
func (k *stretch) follow(s *Shown) []core.Message {
	if k.continues(s) {
		k.items = s.add(k.items, len(k.items)-k.lead)
	} else {
		all := s.Len()
		k.items = s.add(append(make([]core.Message, 0, all+all/8), s.lead...), 0)
		k.lead, k.short, k.reads = len(s.lead), s.short, s.reads
	}
	k.from, k.upTo = 0, 0
	if n := len(s.part.Messages); n > 0 {
		k.from, k.upTo = s.part.sequence(0), s.part.sequence(n-1)
	}
	return k.items[:len(k.items):len(k.items)]
}

// continues reports whether what is shown begins with the messages. A log's messages are
// withdrawn from its end only, so that the two ends say it.
func (k *stretch) continues(s *Shown) bool {
	n := len(k.items) - k.lead
	return n > 0 && n <= len(s.part.Messages) && s.part.sequence(0) == k.from && s.part.sequence(n-1) == k.upTo &&
		s.short == k.short && s.reads == k.reads && len(s.lead) == k.lead && sameAll(s.lead, k.items[:k.lead])
}

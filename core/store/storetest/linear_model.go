package storetest

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/reveille-run/reveille/core/store"
)

// slots are the records that a history writes of each thread.
var slots = [...]struct {
	name string
	kind store.Kind
}{
	{store.LogName(1), store.KindLog},
	{store.LogName(2), store.KindLog},
	{"R#1", store.KindRewrite},
	{"S#", store.KindRewrite},
	{"Q#1#0", store.KindCreate},
	{"C#1#1#0#once#a", store.KindCreate},
}

// pointers are the pointers of a thread.
var pointers = [...]string{"run", "key"}

// world is what the contract says is stored of a thread. A zero value is what is
// absent: no write has the number 0.
type world struct {
	head     headAt
	records  [len(slots)]recordAt
	pointers [len(pointers)]uint16
}

type headAt struct{ version, number uint16 }

type recordAt struct{ fence, version, number uint16 }

// answer is what a client learned of one write.
type answer uint8

const (
	yes      answer = iota + 1
	fenced          // a record: a later one is stored
	equal           // a record: another one is stored that is as late
	taken           // a pointer: another value is stored; a head: another version
	admitted        // it was allowed, and what came after it was not: it may be there
	perhaps         // nothing: it may be there
	unknown         // nothing, not even that the call is over: it may still be applied
)

// operation is a read or a write of one head, record or pointer, with its result. It is
// both what porcupine calls the input and the output.
type operation struct {
	write        bool
	what         part
	thread, slot int
	record       recordAt // to write, or found
	head         headAt   // to write, or found
	found        headAt   // by a refused write of a head
	value        uint16   // of a pointer: to write, or found
	answer       answer   // to a write
	covers       []*operation
}

// part is what an operation is about.
type part uint8

const (
	aHead part = iota
	aRecord
	aPointer
)

// contract is the model. No operation is about two threads, so that each has a separate
// order. The state of one are the states that the results so far allow: one, unless it is
// unknown whether a write has happened.
var contract = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		threads := make([][]porcupine.Operation, historyThreads)
		for _, o := range all {
			at := o.Input.(*operation).thread
			threads[at] = append(threads[at], o)
		}
		return threads
	},
	Init: func() any { return []world{{}} },
	Step: func(state, input, _ any) (bool, any) {
		var after []world
		for _, w := range state.([]world) {
			for _, next := range input.(*operation).step(w) {
				if !slices.Contains(after, next) {
					after = append(after, next)
				}
			}
		}
		return len(after) > 0, after
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]world), b.([]world)) },
}

// step returns what a world may become by the operation; nothing: it cannot have
// had this answer there.
func (o *operation) step(w world) []world {
	allows, next := o.apply(w)
	switch {
	case !o.write:
		return only(allows, w)
	case o.answer == yes:
		return only(allows, next)
	case o.answer == admitted:
		return append(only(allows, w), only(allows, next)...)
	case o.answer == perhaps, o.answer == unknown:
		return append([]world{w}, only(allows, next)...)
	}
	return only(o.refuses(w), w)
}

func only(ok bool, w world) []world {
	if !ok {
		return nil
	}
	return []world{w}
}

// apply reports whether a world has what was read, or allows what is to be
// written, and what it then is.
func (o *operation) apply(w world) (bool, world) {
	switch o.what {
	case aHead:
		stored := w.head
		if !o.write {
			return stored == o.head, w
		}
		w.head = o.head
		return stored.version == o.head.version-1 && !slices.ContainsFunc(o.covers, func(c *operation) bool { return !c.stands(w) }), w
	case aRecord:
		stored := w.records[o.slot]
		if !o.write {
			return stored == o.record, w
		}
		write, cause := admit(slots[o.slot].kind, stored, o.record)
		if write {
			w.records[o.slot] = o.record
		}
		return cause == yes, w
	}
	stored := w.pointers[o.slot]
	if !o.write {
		return stored == o.value, w
	}
	w.pointers[o.slot] = o.value
	return stored == 0 || stored == o.value, w
}

// refuses reports whether a world gives the write the refusal that it got.
func (o *operation) refuses(w world) bool {
	switch o.what {
	case aHead:
		stored := w.head
		return stored.version != o.head.version-1 && stored == o.found
	case aRecord:
		_, cause := admit(slots[o.slot].kind, w.records[o.slot], o.record)
		return cause == o.answer
	}
	stored := w.pointers[o.slot]
	return stored == o.found.number && stored != 0 && stored != o.value
}

// stands reports whether a write has happened, as far as can be seen: a later one may have
// taken its place.
func (o *operation) stands(w world) bool {
	if o.what == aPointer {
		return w.pointers[o.slot] == o.value
	}
	stored, ours := w.records[o.slot], o.record
	if slots[o.slot].kind == store.KindCreate {
		return stored.number == ours.number
	}
	later := stored.fence > ours.fence || stored.fence == ours.fence && stored.version > ours.version
	return stored.number != 0 && (later || stored == ours)
}

// admit says the three conditions once more, apart from [store.Record.Admit].
func admit(kind store.Kind, stored, next recordAt) (write bool, a answer) {
	if stored.number == 0 {
		return true, yes
	}
	same := kind == store.KindCreate || stored.fence == next.fence && (kind == store.KindLog || stored.version == next.version)
	later := stored.fence > next.fence || kind == store.KindRewrite && stored.fence == next.fence && stored.version > next.version
	switch {
	case same && stored.number == next.number:
		return false, yes
	case same:
		return false, equal
	case later:
		return false, fenced
	}
	return true, yes
}

// String implements fmt.Stringer for failure texts.
func (o *operation) String() string {
	answers := [...]string{"", "written", "fenced", "conflict", "refused", "admitted, perhaps not written", "perhaps written", "no answer"}
	verb := "finds"
	if o.write {
		verb = "writes"
	}
	var text string
	switch o.what {
	case aHead:
		text = fmt.Sprintf("head of t%d %s version %d of write %d", o.thread, verb, o.head.version, o.head.number)
	case aRecord:
		text = fmt.Sprintf("%s of t%d %s fence %d, version %d of write %d", slots[o.slot].name, o.thread, verb, o.record.fence, o.record.version, o.record.number)
	case aPointer:
		text = fmt.Sprintf("pointer %s of t%d %s %d", pointers[o.slot], o.thread, verb, o.value)
	}
	if o.write {
		text += ": " + answers[o.answer]
	}
	if o.answer == taken {
		text += fmt.Sprintf(", finds version %d of write %d", o.found.version, o.found.number)
	}
	return text
}

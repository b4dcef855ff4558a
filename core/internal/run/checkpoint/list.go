package checkpoint

import "sync/atomic"

// List is a slice that only grows at its end, and of which any number of owners may
// hold versions: a conversation in the cache, the draft that started from it, the
// conversation that the draft became. They share one array: the holder of the
// version that ends where the array is in use appends in place, and every other
// holder copies first. So a step of a long thread does not copy the thread.
//
// A version never changes, and may be read from any goroutine. The part of the
// array after its end may be written at any time by the holder of another version,
// which is why Slice returns no capacity to append.
//
// A List has 16 bytes, since each version of a conversation has three. The zero List
// is empty.
type List[T any] struct {
	in       *array[T] // nil: it is empty
	from, to int32     // the items have these places in the array
}

// array has the items of lists that share it.
type array[T any] struct {
	items []T          // as many as there is room for
	used  atomic.Int32 // so many of them belong to a list
}

// ListOf is a list of items that are not changed any more. To append to it copies them.
func ListOf[T any](items []T) List[T] {
	l := List[T]{in: &array[T]{items: items[:len(items):len(items)]}, to: int32(len(items))}
	l.in.used.Store(l.to)
	return l
}

// listFor is an empty list that has room for so many items, and for some more.
func listFor[T any](n int) List[T] {
	return List[T]{in: &array[T]{items: make([]T, n+n/8+4)}}
}

// Slice returns the items, without capacity after them.
func (l List[T]) Slice() []T {
	if l.in == nil {
		return nil
	}
	return l.in.items[l.from:l.to:l.to]
}

// Len is the number of items.
func (l List[T]) Len() int { return int(l.to - l.from) }

// At returns the i-th item, which is not changed.
func (l List[T]) At(i int) *T { return &l.in.items[l.from:l.to][i] }

// Without returns the list without its first n items.
func (l List[T]) Without(n int) List[T] { return l.part(n, l.Len()) }

// First returns the list of the first n items. Its end is not where the array is in
// use, unless that is all of them: to append to it copies.
func (l List[T]) First(n int) List[T] { return l.part(0, n) }

// part returns the list of the items in a range of its own, as a slice expression has it.
func (l List[T]) part(from, to int) List[T] {
	_ = l.Slice()[from:to] // out of range: it panics
	return List[T]{in: l.in, from: l.from + int32(from), to: l.from + int32(to)}
}

// With returns the list with an item more.
func (l List[T]) With(item T) List[T] {
	if l.in == nil || int(l.to) == len(l.in.items) || !l.in.used.CompareAndSwap(l.to, l.to+1) {
		// Half of it again, so that a thread of any length is copied now and then, not with
		// every step.
		n := l.Len()
		grown := &array[T]{items: make([]T, max(4, n+n/2))}
		copy(grown.items, l.Slice())
		grown.used.Store(int32(n + 1))
		l = List[T]{in: grown, to: int32(n)}
	}
	l.in.items[l.to] = item
	l.to++
	return l
}

// along returns the list with the next item of a version that continued from it in
// the same array; false if the other did not. The item is not looked at.
func (l List[T]) along(other List[T]) (List[T], bool) {
	if l.in == nil || l.in != other.in || other.to <= l.to || other.from > l.to {
		return l, false
	}
	l.to++
	return l, true
}

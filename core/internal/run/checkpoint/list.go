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
type List[T any] struct {
	items []T
	from  int64         // place of the first item in the array
	used  *atomic.Int64 // of the array; nil: the array is not shared
}

// ListOf is a list of items that are not changed any more.
func ListOf[T any](items []T) List[T] { return List[T]{items: items[:len(items):len(items)]} }

// listFor is an empty list that has room for so many items, and for some more.
func listFor[T any](n int) List[T] {
	return List[T]{items: make([]T, 0, n+n/8+4), used: new(atomic.Int64)}
}

// Slice returns the items, without capacity after them.
func (l List[T]) Slice() []T { return l.items[:len(l.items):len(l.items)] }

// Len is the number of items.
func (l List[T]) Len() int { return len(l.items) }

// At returns the i-th item, which is not changed.
func (l List[T]) At(i int) *T { return &l.items[i] }

// end is the place in the array after the last item.
func (l List[T]) end() int64 { return l.from + int64(len(l.items)) }

// Without returns the list without its first n items.
func (l List[T]) Without(n int) List[T] {
	return List[T]{items: l.items[n:], from: l.from + int64(n), used: l.used}
}

// First returns the list of the first n items. Its end is not where the array is in
// use, unless that is all of them: to append to it copies.
func (l List[T]) First(n int) List[T] {
	return List[T]{items: l.items[:n], from: l.from, used: l.used}
}

// With returns the list with an item more.
func (l List[T]) With(item T) List[T] {
	n := len(l.items)
	if l.used != nil && n < cap(l.items) && l.used.CompareAndSwap(l.end(), l.end()+1) {
		l.items = l.items[:n+1]
		l.items[n] = item
		return l
	}
	// Half of it again, so that a thread of any length is copied now and then, not with
	// every step.
	grown := make([]T, n+1, max(4, n+n/2))
	copy(grown, l.items)
	grown[n] = item
	l.items, l.from, l.used = grown, 0, new(atomic.Int64)
	l.used.Store(int64(n + 1))
	return l
}

// along returns the list with the next item of a version that continued from it in
// the same array; false if the other did not. The item is not looked at.
func (l List[T]) along(other List[T]) (List[T], bool) {
	if l.used == nil || l.used != other.used || other.end() <= l.end() || other.from > l.end() {
		return l, false
	}
	l.items = l.items[:len(l.items)+1]
	return l, true
}

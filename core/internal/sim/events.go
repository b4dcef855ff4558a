package sim

import "time"

// event is something that happens at a time. Those of one instant come in an
// order that the seed says.
type event struct {
	at    time.Duration
	tie   uint64
	n     uint64
	run   func()
	sweep bool
}

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.tie != o.tie {
		return e.tie < o.tie
	}
	return e.n < o.n
}

// events is a binary heap. Its own, since container/heap allocates at each push.
type events []event

func (q *events) push(e event) {
	*q = append(*q, e)
	heap := *q
	i := len(heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&heap[parent]) {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = e
}

func (q *events) pop() event {
	heap := *q
	first, last := heap[0], heap[len(heap)-1]
	heap[len(heap)-1] = event{}
	heap = heap[:len(heap)-1]
	*q = heap
	if len(heap) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(heap) {
			break
		}
		if right := child + 1; right < len(heap) && heap[right].before(&heap[child]) {
			child = right
		}
		if !heap[child].before(&last) {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = last
	return first
}

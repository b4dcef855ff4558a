package host

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Queue is a mailbox's queue within one process. Its hints are lost with the process: the
// sweep of another process, or of the next one, finds the work in the store.
//
// A hint is only a hint here too: the head of its thread has the work, so that hints may be
// merged, come late, and be handled twice. There is no timer: a caller that waits for hints
// waits until the earliest one is due. So a process in which no caller waits does nothing.
//
// In a host whose Waker is a Queue, the calls that wait for a run take its steps
// themselves, and [Host.Work] takes those of the other runs. A host that delivers the
// hints in its own way uses Receive and Return.
type Queue struct {
	// Others is sent each hint too, for workers of other processes; nil: none is. It is set
	// before the queue is used.
	Others mailbox.Waker

	env *env.Env

	// mu guards all below, with the lines and waiters; it is not held over I/O. One lock is
	// enough: each operation is short, and follows a write of a head.
	mu       sync.Mutex
	messages messages // that can be received
	known    map[hintKey]*message
	lines    map[core.ThreadKey]*line
	serial   int
	workers  int           // calls of Host.Work under way
	changed  chan struct{} // closed with the next news for receivers; nil: none waits
}

// Delivery is a hint that was received from a [Queue].
type Delivery struct {
	ID       int // of the hint in its queue; Return keeps it
	Hint     core.WakeUp
	Receives int // how often it was received, this time included
}

// hintKey names the subject of a hint. The queue keeps one hint of each. The effect of a hint
// is in the thread's head, and does not depend on the run that the hint was sent for.
type hintKey struct {
	thread core.ThreadKey
	kind   string
	sweep  bool // it also erases
}

func keyOf(hint core.WakeUp) hintKey { return hintKey{hint.Key(), hint.Kind, hint.Sweep} }

// message is a hint in the queue.
type message struct {
	delivery Delivery
	at       time.Time // when it is due
	index    int       // in messages; -1: a line holds it back
}

// NewQueue returns an empty queue.
func NewQueue(e *env.Env) *Queue {
	return &Queue{env: e, known: map[hintKey]*message{}, lines: map[core.ThreadKey]*line{}}
}

// Wake implements mailbox.Waker. Its error is that of Others. If a thread has several hints,
// the queue keeps the earliest, with the newest time of a ticket: a worker that follows it and
// finds only later work sends another.
func (q *Queue) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	q.mu.Lock()
	q.serial++
	q.add(Delivery{ID: q.serial, Hint: hint}, q.env.Now().Add(delay))
	q.mu.Unlock()
	if q.Others == nil {
		return nil
	}
	return q.Others.Wake(ctx, hint, delay)
}

// Return puts a hint back whose work has failed; it can be received again after the delay.
func (q *Queue) Return(d Delivery, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(d, q.env.Now().Add(delay))
}

// add makes a hint due at a time. The caller holds mu.
func (q *Queue) add(d Delivery, at time.Time) {
	l := q.lines[d.Hint.Key()]
	switch m := q.known[keyOf(d.Hint)]; {
	case m == nil:
		m = &message{delivery: d, at: at}
		q.known[keyOf(d.Hint)] = m
		heap.Push(&q.messages, m)
	case at.Before(m.at):
		d.Hint.WakeAt = cmp.Or(d.Hint.WakeAt, m.delivery.Hint.WakeAt)
		m.delivery, m.at = d, at
		if m.index >= 0 {
			heap.Fix(&q.messages, m.index)
		}
	default:
		m.delivery.Hint.WakeAt = cmp.Or(d.Hint.WakeAt, m.delivery.Hint.WakeAt)
		return
	}
	if l == nil || l.waiting == 0 { // a call that waits for another thread, or a worker, will work on it
		q.signalAll()
	} else if !at.After(q.env.Now()) { // else its calls know from the head when it is due
		l.signal()
	}
}

// Receive waits until hints are due, and returns the earliest of them, at most so many. It
// leaves the hints of threads that calls wait for to those calls. It returns none when ctx
// ends.
func (q *Queue) Receive(ctx context.Context, most int) []Delivery {
	for ctx.Err() == nil {
		got, at, changed := q.receive(most)
		if len(got) > 0 {
			return got
		}
		until, cancel := ctx, context.CancelFunc(func() {})
		if !at.IsZero() {
			until, cancel = q.env.WithDeadline(ctx, at)
		}
		_ = q.env.Wait(until, changed) // its end is not news, ctx's ends the loop
		cancel()
	}
	return nil
}

// receive removes hints that are due. If no hint is due, it returns the time when one will be,
// and a channel that is closed with the next news.
func (q *Queue) receive(most int) (got []Delivery, at time.Time, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(got) < most {
		var d Delivery
		var due bool
		if d, due, at = q.earliest(0); !due {
			break
		}
		got = append(got, d)
	}
	if len(got) == 0 && q.changed == nil {
		q.changed = make(chan struct{})
	}
	return got, at, q.changed
}

// pop is Receive for a call that waits: it does not wait, and takes one hint. While workers
// are there it leaves them a hint for workersFirst: they may all be in tools that wait for
// what this call is about.
func (q *Queue) pop() (d Delivery, due bool, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.workers > 0 {
		return q.earliest(workersFirst)
	}
	return q.earliest(0)
}

// workersFirst is how long a call that waits leaves the hints of other threads to workers.
// Workers need no call that does their work, and the call returns sooner. But without an end
// of its patience, workers in tools that wait for other runs could hold these up forever.
const workersFirst = time.Second

// earliest removes the earliest hint that nothing holds back, if it has been due for a time.
// Else it returns when that will be; zero: there is no such hint. The caller holds mu.
func (q *Queue) earliest(since time.Duration) (d Delivery, due bool, at time.Time) {
	for len(q.messages) > 0 {
		m := q.messages[0]
		l := q.lines[m.delivery.Hint.Key()]
		if l == nil || l.waiting == 0 {
			if at = m.at.Add(since); at.After(q.env.Now()) {
				return d, false, at
			}
			heap.Pop(&q.messages)
			delete(q.known, keyOf(m.delivery.Hint))
			m.delivery.Receives++
			return m.delivery, true, at
		}
		heap.Pop(&q.messages)
		l.held = append(l.held, m)
	}
	return d, false, time.Time{}
}

// forget removes the hints of a thread that has nothing to do any more.
func (q *Queue) forget(key core.ThreadKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, of := range []hintKey{{thread: key}, {thread: key, sweep: true}, {thread: key, kind: core.WakeCompact}} {
		m := q.known[of]
		if m == nil {
			continue
		}
		delete(q.known, of)
		if m.index >= 0 {
			heap.Remove(&q.messages, m.index)
		} else {
			l := q.lines[key]
			l.held = slices.DeleteFunc(l.held, func(other *message) bool { return other == m })
		}
	}
}

// Depth returns how many hints are due, how many are not yet, and for how long the oldest
// of those that are due has been.
func (q *Queue) Depth() (ready, delayed int, oldest time.Duration) {
	now := q.env.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.known {
		if m.at.After(now) {
			delayed++
			continue
		}
		ready++
		oldest = max(oldest, now.Sub(m.at))
	}
	return ready, delayed, oldest
}

// worked reports whether workers take the hints of this queue.
func (q *Queue) worked() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.workers > 0
}

// work notes that workers take the hints, until the returned function is called.
func (q *Queue) work() (end func()) {
	count := func(by int) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.workers += by
		q.signalAll()
	}
	count(1)
	return func() { count(-1) }
}

// moved wakes the calls that hear of a thread: its head has changed.
func (q *Queue) moved(key core.ThreadKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[key]; l != nil {
		l.signal()
	}
}

// messages is a heap of hints, the earliest first; of those of one time, the first sent.
type messages []*message

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (m messages) Len() int { return len(m) }

func (m messages) Less(i, j int) bool {
	if c := m[i].at.Compare(m[j].at); c != 0 {
		return c < 0
	}
	return m[i].delivery.ID < m[j].delivery.ID
}

func (m messages) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].index, m[j].index = i, j
}

func (m *messages) Push(x any) {
	one := x.(*message)
	one.index = len(*m)
	*m = append(*m, one)
}

func (m *messages) Pop() any {
	last := len(*m) - 1
	one := (*m)[last]
	one.index = -1
	(*m)[last] = nil
	*m = (*m)[:last]
	return one
}

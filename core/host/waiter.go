package host

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
)

// How the calls that wait for a run share a process's queue: each works on its own thread as
// the thread's head requires, and on the threads that no call waits for by their hints.

// line is a thread that calls wait for.
type line struct {
	waiting int        // calls that would take its next step
	waiters []*waiter  // all calls, also those that are away
	held    []*message // which the waiting calls handle
}

// line returns a thread's line, a new one if it has none. The caller holds mu.
func (q *Queue) line(key core.ThreadKey) *line {
	l := q.lines[key]
	if l == nil {
		l = &line{}
		q.lines[key] = l
	}
	return l
}

// signal wakes the calls of the line. The caller holds mu.
func (l *line) signal() {
	for _, w := range l.waiters {
		w.signal()
	}
}

// signalAll wakes all calls that wait, and the receivers. The caller holds mu.
func (q *Queue) signalAll() {
	for _, l := range q.lines {
		l.signal()
	}
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// waiter is a call that waits for a thread. It serves one goroutine, which looks at what there
// is to do, and pauses if there is nothing. News that come between the two end the pause
// before it starts: look notes from when on they count.
type waiter struct {
	queue *Queue
	key   core.ThreadKey
	news  bool               // since look
	wake  context.CancelFunc // ends the pause; nil: no pause
}

// join notes that a call waits for a thread, until quit: the call handles the hints of the
// thread.
func (q *Queue) join(key core.ThreadKey) *waiter {
	w := &waiter{queue: q, key: key}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.line(key)
	l.waiters = append(l.waiters, w)
	l.waiting++
	return w
}

// quit ends a join. Hints of the thread stay for workers and for calls that wait for other
// threads: the thread may have more work than this call has waited for.
func (w *waiter) quit() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[w.key]
	l.waiters = slices.DeleteFunc(l.waiters, func(other *waiter) bool { return other == w })
	q.unwait(l)
	if len(l.waiters) == 0 {
		delete(q.lines, w.key)
	}
}

// unwait ends the waiting of one call of a line. The caller holds mu.
func (q *Queue) unwait(l *line) {
	if l.waiting--; l.waiting > 0 {
		return
	}
	for _, m := range l.held {
		heap.Push(&q.messages, m)
	}
	l.held = nil
	q.signalAll()
}

// away leaves the thread to others until the returned function is called: the call is busy
// with another one, possibly for long. It may find the thread's run over when it returns.
func (w *waiter) away() (back func()) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwait(q.lines[w.key])
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.lines[w.key].waiting++
	}
}

// look forgets the news: those that come from here on end the next pause.
func (w *waiter) look() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.news = false
}

// pause returns a context that ends with news, and at a time (zero: never), until the returned
// function is called. It is a context instead of a channel, since the call also waits for words
// of its run's model, and both end the same wait.
func (w *waiter) pause(ctx context.Context, at time.Time) (until context.Context, end func()) {
	until, wake := context.WithCancel(ctx)
	late := context.CancelFunc(func() {})
	if !at.IsZero() {
		until, late = w.queue.env.WithDeadline(until, at)
	}
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if w.wake = wake; w.news {
		wake()
	}
	return until, func() {
		w.queue.mu.Lock()
		defer w.queue.mu.Unlock()
		w.wake = nil
		late()
		wake()
	}
}

// signal tells the waiter that there is news. It only cancels a context, whose functions do
// not run under the lock. The caller holds mu.
func (w *waiter) signal() {
	w.news = true
	if w.wake != nil {
		w.wake()
	}
}

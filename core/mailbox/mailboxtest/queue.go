package mailboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Queue is a mailbox.Waker that keeps the hints that it receives until a test takes them. The
// zero value is ready, and safe for concurrent use. Set its fields before any other goroutine
// uses it.
type Queue struct {
	// Now is the queue's clock; nil: the system's.
	Now func() time.Time
	// Longest is the longest delay that the queue can keep; a longer one ends
	// early, as on SQS. 0: there is no longest.
	Longest time.Duration
	// OnWake is asked before a hint is kept. Its error is the sender's, and the hint is not
	// kept then. nil: every hint is kept.
	OnWake func(hint core.WakeUp, delay time.Duration) error
	// Lose reports whether a hint gets lost on the way: its sender believes that it was sent.
	// nil: none does.
	Lose func(hint core.WakeUp, delay time.Duration) bool

	mu       sync.Mutex
	asked    int
	messages []SentHint // as they were sent
}

// SentHint is a hint on its way.
type SentHint struct {
	Hint  core.WakeUp
	Delay time.Duration // as the sender asked
	At    time.Time     // when it is due
}

// String returns the thread and the delay, such as "t1 1m30s".
func (h SentHint) String() string { return fmt.Sprint(h.Hint.Thread, " ", h.Delay) }

// Wake implements mailbox.Waker.
func (q *Queue) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	q.mu.Lock()
	q.asked++
	q.mu.Unlock()
	if q.OnWake != nil {
		if err := q.OnWake(hint, delay); err != nil {
			return err
		}
	}
	if q.Lose != nil && q.Lose(hint, delay) {
		return nil
	}
	kept := delay
	if q.Longest > 0 {
		kept = min(kept, q.Longest)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = append(q.messages, SentHint{hint, delay, q.now().Add(kept)})
	return nil
}

// Receive removes the hint that is due for the longest time and returns it; ok is
// false when none is due.
func (q *Queue) Receive() (hint core.WakeUp, ok bool) {
	hints := q.Batch(1)
	if len(hints) == 0 {
		return hint, false
	}
	return hints[0], true
}

// Batch is Receive for at most n hints, the longest due first; those that are due
// at the same time come as they were sent.
func (q *Queue) Batch(n int) (hints []core.WakeUp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for len(hints) < n {
		i := q.first()
		if i < 0 || q.messages[i].At.After(now) {
			break
		}
		hints = append(hints, q.messages[i].Hint)
		q.messages = slices.Delete(q.messages, i, i+1)
	}
	return hints
}

// first is the place of the message that is due first, -1 when there is none;
// the caller holds the lock.
func (q *Queue) first() int {
	first := -1
	for i, m := range q.messages {
		if first < 0 || m.At.Before(q.messages[first].At) {
			first = i
		}
	}
	return first
}

// Next is the time when the first hint is due; ok is false if the queue is empty.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.first()
	if i < 0 {
		return at, false
	}
	return q.messages[i].At, true
}

// Messages returns what was sent and not taken, in the order of sending.
func (q *Queue) Messages() []SentHint {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.messages)
}

// Lines returns the String of each of the Messages; nil if the queue is empty.
func (q *Queue) Lines() (lines []string) {
	for _, m := range q.Messages() {
		lines = append(lines, m.String())
	}
	return lines
}

// Clear forgets what was sent.
func (q *Queue) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}

// Asked is how often Wake was called; refused and lost hints count.
func (q *Queue) Asked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.asked
}

func (q *Queue) now() time.Time {
	if q.Now != nil {
		return q.Now()
	}
	return env.System().Now()
}

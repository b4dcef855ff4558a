package sim

import (
	"time"

	"github.com/reveille-run/reveille/core"
)

// In every world but those of one process the queue is sent second hints, so that a worker
// that dies is missed soon after its lease.

// secondAfter is the least time between two second hints of a thread that workers alone work
// on: else a run would have one for each step.
const secondAfter = 20*time.Second - skew*time.Millisecond

// isSecond reports whether a hint with a delay that is sent alone is a second one: for a lease
// that was renewed, or a claim that came late. Others wait for as long only where runs are
// delayed or tried again later.
func (w *World) isSecond(delay time.Duration) bool {
	return !w.config.Processes.Local && !w.config.People.Delays && delay > lease+5*time.Second
}

// second takes a second hint.
func (q *queue) second(h *host, hint core.WakeUp, delay time.Duration) {
	p := q.w.partition(hint.Key())
	q.w.Stats.Steps.Seconds++
	if s := &p.state.seconds; q.w.innocent() && s.due > 0 && q.w.now-s.sent < secondAfter && s.inline < s.sent {
		q.w.fail(p, "a second hint is sent %s after another", q.w.now-s.sent)
	}
	p.state.seconds.sent, p.state.seconds.due = q.w.now, q.w.now+delay
	q.take(h, hint, delay)
}

// seconds is what the queue knows of a thread's second hints.
type seconds struct {
	sent, due time.Duration // of the newest; 0: there was none
	inline    time.Duration // when a request last claimed a run that it streams
}

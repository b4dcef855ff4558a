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

// ofStream is the age at which the claim of a request that streams its run may have a second
// hint where none is on its way.
const ofStream = lease*2/3 - skew*time.Millisecond

// isSecond reports whether a hint with a delay that is sent alone is a second one: for a lease
// that was renewed, or a claim that came late. Others wait for as long only where runs are
// delayed or tried again later, calls wait for a time, or messages are tried again.
func (w *World) isSecond(delay time.Duration) bool {
	return !w.config.Processes.Local && !w.config.People.Delays && !w.config.Agents.Timers && !w.config.Agents.Letters && delay > lease+5*time.Second
}

// second takes a second hint.
func (q *queue) second(h *host, hint core.WakeUp, delay time.Duration) {
	p := q.w.partition(hint.Key())
	q.w.Stats.Steps.Seconds++
	if s := &p.state.seconds; q.w.innocent() && s.due > 0 && q.w.now-s.sent < secondAfter && s.inline < s.sent {
		q.w.fail(p, "a second hint is sent %s after another", q.w.now-s.sent)
	}
	age := q.w.now - p.state.seconds.since
	if h.role == roleAPI && p.head.Claim.Worker == h.name && age < ofStream && p.state.seconds.due+sending < q.w.now {
		q.w.fail(p, "%s sends a second hint of a run that it has streamed for %s", h.name, age)
	}
	p.state.seconds.sent, p.state.seconds.due = q.w.now, q.w.now+delay
	q.accept(h, hint, delay)
}

// seconds is what the queue knows of a thread's second hints.
type seconds struct {
	sent, due time.Duration // of the newest; 0: there was none
	inline    time.Duration // when a request last claimed a run that it streams
	since     time.Duration // when the newest claim was first asked for, by its commit id
	died      time.Duration // when a process last died with a hint of the thread
}

// Times within which the run of a worker that died is taken over, where no message is lost.
const (
	withSecond    = lease + time.Minute                            // there was a second hint
	withoutSecond = lease + 3*time.Minute + 2*sweepEvery + reserve // a request streamed it
	sending       = 5 * time.Second                                // within which a hint follows its write
)

// expectTakeover notes that the process dies, in a world where that is nearly all that goes
// wrong: a run that it has claimed is taken over in time. A thread whose next holder, or next
// hint, dies with its process too is looked at then.
func (h *host) expectTakeover() {
	w := h.world
	if !w.config.Processes.Killed {
		return
	}
	for _, p := range w.storage.partitions {
		claim, s := p.head.Claim, &p.state.seconds
		if claim.Fence == 0 || claim.Worker != h.name || claim.Lease < w.millis() {
			continue
		}
		s.died = w.now
		within := withSecond
		switch sent := epoch.Add(s.due).UnixMilli(); {
		case p.head.SecondAt == 0 && (h.role == roleStep || claim.Lease > epoch.Add(s.since+ofStream+lease+time.Second).UnixMilli()): // of a worker, or renewed
			w.fail(p, "%s dies with a claim that has no second hint: %+v", h.name, p.head)
		case p.head.SecondAt == 0:
			within = withoutSecond
			w.Stats.Steps.DiedInStreams++
		case sent > claim.Lease:
			w.Stats.Steps.Died++
		case w.now-p.changed < sending:
			within = withoutSecond
		default:
			w.fail(p, "%s dies with a claim until %d, the last second hint comes at %d: %+v", h.name, claim.Lease, sent, p.head)
		}
		died, fence := w.now, claim.Fence
		w.at(within, func() {
			if now := p.head.Claim; s.died == died && now.Fence == fence && !p.head.Deleted {
				w.fail(p, "%s died %s ago, and its claim was not taken over: %+v", h.name, within, p.head)
			}
		})
	}
}

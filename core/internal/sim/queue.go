package sim

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// queue holds hints on their way.
type queue struct {
	w        *World
	arrived  []core.WakeUp
	gathered bool // a delivery of what arrives is under way
}

// Times of the queue.
const (
	maxDelay   = 900 * time.Second // of SQS
	visibility = 240 * time.Second // after which a message that was not acknowledged is delivered again
	gather     = 200 * time.Millisecond
	batchSize  = 10
	tooMany    = 60                 // hints of one thread under way
	oldSettles = 1700 * time.Second // the attempts of every hint that no worker may take are over
)

// waker is a process's way to the queue.
type waker struct{ host *host }

var _ mailbox.SecondWaker = sharedWaker{}

// Wake implements [mailbox.Waker].
func (q waker) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	h := q.host
	h.tended(hint.Key())
	return h.ask(ctx, request{site: SiteHint, name: hint.Thread, do: func() {
		if h.world.isSecond(delay) {
			h.world.queue.second(h, hint, delay)
			return
		}
		h.world.queue.enqueue(h, hint, delay)
	}})
}

// sharedWaker is the way to a queue that many processes have.
type sharedWaker struct{ own waker }

// Wake implements [mailbox.Waker].
func (q sharedWaker) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	return q.own.Wake(ctx, hint, delay)
}

// WakeTwice implements [mailbox.SecondWaker].
func (q sharedWaker) WakeTwice(ctx context.Context, hint core.WakeUp, delay, second time.Duration) error {
	h := q.own.host
	h.tended(hint.Key())
	return h.ask(ctx, request{site: SiteHint, name: hint.Thread, do: func() {
		h.world.queue.enqueue(h, hint, delay)
		h.world.queue.second(h, hint, second)
	}})
}

// waker is the process's way to the queue.
func (h *host) waker() mailbox.Waker {
	if h.world.config.Processes.Local { // its own queue and its own sweep
		return waker{h}
	}
	return sharedWaker{waker{h}}
}

// enqueue takes a hint; the queue may double, delay or lose it.
func (q *queue) enqueue(h *host, hint core.WakeUp, delay time.Duration) {
	delete(h.owes, hint.Key())
	if h.waits[hint.Key()] == hint.WakeAt {
		delete(h.waits, hint.Key())
	}
	q.w.Stats.Steps.Hints++
	q.accept(h, hint, delay)
}

// accept carries a hint: at a fault twice, never or later.
func (q *queue) accept(h *host, hint core.WakeUp, delay time.Duration) {
	if delay > maxDelay {
		q.w.violate("a hint with a delay of %s: the queue allows at most %s", delay, maxDelay)
	}
	if hint.Tries > 0 {
		q.w.Stats.Steps.SchemaRefused++
	}
	q.w.auditor.checkNeeded(hint)
	copies := 1
	if q.w.now < q.w.stop && q.w.config.Faults > 0 && !q.w.config.Processes.Killed {
		switch {
		case q.w.random.chance(q.doubled()):
			copies = 2
			q.w.strike(SiteHint, FaultDoubled)
		case !q.w.config.Processes.Unswept && q.w.random.chance(0.01):
			copies = 0
			q.w.strike(SiteHint, FaultDropped)
		case q.w.random.chance(0.02):
			delay += q.w.random.between(time.Second, 90*time.Second)
			q.w.strike(SiteHint, FaultDelayed)
		}
	}
	if q.muted(hint, delay) {
		copies = 0
		q.w.strike(SiteHint, FaultDropped)
	}
	delay = max(delay, q.w.stalled())
	for range copies {
		q.carry(h, hint, delay+q.w.random.between(5*time.Millisecond, 45*time.Millisecond))
	}
}

// doubled is how often a hint arrives twice. In batches without a sweep it is
// often: the second is there while the first one's work is about to fail.
func (q *queue) doubled() float64 {
	if q.w.config.Processes.Unswept && q.w.config.Processes.Batch {
		return 0.3
	}
	return 0.02
}

// carry brings a hint to a worker after the delay.
func (q *queue) carry(from *host, hint core.WakeUp, delay time.Duration) {
	th := q.w.partition(hint.Key()).state
	if hint.Kind == core.WakeCompact {
		q.w.summaries++
	}
	if th.hints++; th.hints > tooMany && q.w.config.Tenants == 0 {
		q.w.fail(th.p, "%d hints are in the queue", th.hints)
	}
	// A thread that no program can claim then has the sweep's hint and that of a client that
	// follows it, which never renew themselves.
	if q.w.config.Programs.Old && q.w.config.Faults == 0 && q.w.now > oldSettles && q.w.now < q.w.stop && th.hints > 2 {
		q.w.fail(th.p, "%d hints are in the queue of a thread that no process can claim", th.hints)
	}
	q.w.at(delay, func() {
		if q.w.config.Processes.Local && from != q.w.local {
			th.hints-- // the queue was the process's own
			return
		}
		q.arrived = append(q.arrived, hint)
		if q.gathered {
			return
		}
		q.gathered = true
		wait := time.Duration(0)
		if q.w.config.Processes.Batch {
			wait = gather
		}
		q.w.at(wait, q.deliver)
	})
}

// deliver hands out what has arrived.
func (q *queue) deliver() {
	hints := q.arrived
	q.arrived, q.gathered = nil, false
	for len(hints) > 0 {
		n := 1
		if q.w.config.Processes.Batch {
			n = min(batchSize, len(hints))
		}
		for _, hint := range hints[:n] {
			q.w.partition(hint.Key()).state.hints--
		}
		if q.w.config.Processes.Local {
			q.handLocally(hints[0])
		} else {
			q.handOut(hints[:n:n])
		}
		hints = hints[n:]
	}
}

// handOut is one invocation of the step function.
func (q *queue) handOut(hints []core.WakeUp) {
	h := q.w.sandbox(roleStep)
	again := func(hint core.WakeUp) {
		if q.w.now < q.w.stop && q.w.random.chance(0.5) {
			q.rewake(hint) // from the dead-letter queue
			return
		}
		th := q.w.partition(hint.Key()).state
		th.returning++
		q.w.at(visibility, func() { th.returning-- })
		q.carry(h, hint, visibility)
	}
	began := q.w.millis()
	handed := make([]int, len(hints))
	for i, hint := range hints {
		th := q.w.partition(hint.Key()).state
		th.held, th.handed = th.held+1, th.handed+1
		handed[i] = th.handed
	}
	h.invoke(stepTimeout, func(ctx context.Context) {
		h.begin(hints)
		for i, err := range h.engine.runtime.WorkBatch(ctx, hints) {
			if err == nil {
				if hints[i].Kind == "" { // the others are good for nothing that a head says
					q.w.auditor.checkAcknowledged(h, hints[i], handed[i], began)
				}
				if hints[i].Kind == "" && !hints[i].Sweep { // one of a client that follows is not sent on
					h.checkTended(hints[i].Key())
				}
				continue
			}
			if q.w.config.Faults == 0 && !q.w.config.Storage.Ambiguous && !q.w.config.Storage.Late && !h.ending {
				q.w.violate("a delivery failed without a fault: %v", err)
			}
			again(hints[i])
		}
	}, func(ok bool) {
		for _, hint := range hints {
			q.w.partition(hint.Key()).state.held--
		}
		if !ok {
			for _, hint := range hints {
				q.w.partition(hint.Key()).state.seconds.died = q.w.now
				again(hint)
			}
		}
	})
}

// rewake is the consumer of the dead-letter queue: it passes to the mailbox a hint that
// no worker could process.
func (q *queue) rewake(hint core.WakeUp) {
	th := q.w.partition(hint.Key()).state
	th.hints++
	th.returning++
	q.w.at(q.w.random.between(time.Second, 4*time.Minute), func() {
		th.returning--
		h := q.w.sandbox(roleSweep)
		failed := true
		h.invoke(sweepTimeout, func(ctx context.Context) {
			failed = q.w.attempt(h, "rewake", func() error {
				_, err := h.engine.runtime.Rewake(ctx, hint)
				return err
			})
		}, func(bool) {
			if th.hints--; failed {
				q.rewake(hint) // its queue delivers again, too
			}
		})
	})
}

// handLocally gives the local host a hint from its own queue.
func (q *queue) handLocally(hint core.WakeUp) {
	h := q.w.local
	if h == nil || h.dead || h.ending {
		return
	}
	th := q.w.partition(hint.Key()).state
	th.handed++
	h.spawn(func() {
		q.w.working++
		over := th.works(hint)
		if err := h.engine.runtime.WorkLocal(h.ctx, hint); err != nil {
			q.carry(h, hint, q.w.random.between(5*time.Second, 30*time.Second))
		}
		over()
		q.w.working--
	})
}

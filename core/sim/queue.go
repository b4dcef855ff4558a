package sim

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// queue holds hints on their way.
type queue struct {
	arrived  []core.WakeUp
	gathered bool // a delivery of what arrives is under way
}

// Times of the queue.
const (
	maxDelay   = 900 * time.Second // of SQS
	visibility = 240 * time.Second // after which a message that was not acknowledged comes again
	gather     = 200 * time.Millisecond
	batchSize  = 10
	tooMany    = 60                 // hints of one thread under way
	oldSettles = 1700 * time.Second // the tries of every hint that nobody may take are over
)

// waker is a process's way to the queue.
type waker struct{ host *host }

var _ mailbox.Waker = waker{}

// Wake implements [mailbox.Waker].
func (q waker) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	h := q.host
	h.tended(hint.Key())
	return h.ask(ctx, request{site: SiteHint, name: hint.Thread, do: func() { h.world.enqueue(h, hint, delay) }})
}

// enqueue takes a hint; the queue may double, delay or lose it.
func (w *World) enqueue(h *host, hint core.WakeUp, delay time.Duration) {
	delete(h.owes, hint.Key())
	if delay > maxDelay {
		w.violate("a hint with a delay of %s: the queue takes at most %s", delay, maxDelay)
	}
	if hint.Tries > 0 {
		w.Stats.Steps.SchemaRefused++
	}
	w.checkNeeded(hint)
	copies := 1
	if w.now < w.stop && w.config.Faults > 0 {
		switch {
		case w.random.chance(w.doubled()):
			copies = 2
			w.strike(SiteHint, FaultDoubled)
		case !w.config.Processes.Unswept && w.random.chance(0.01):
			copies = 0
			w.strike(SiteHint, FaultDropped)
		case w.random.chance(0.02):
			delay += w.random.between(time.Second, 90*time.Second)
			w.strike(SiteHint, FaultDelayed)
		}
	}
	delay = max(delay, w.stalled())
	for range copies {
		w.carry(h, hint, delay+w.random.between(5*time.Millisecond, 45*time.Millisecond))
	}
}

// doubled is how often a hint arrives twice. In batches without a sweep it is
// often: the second is there while the first one's work is about to fail.
func (w *World) doubled() float64 {
	if w.config.Processes.Unswept && w.config.Processes.Batch {
		return 0.3
	}
	return 0.02
}

// carry brings a hint to a worker after the delay.
func (w *World) carry(from *host, hint core.WakeUp, delay time.Duration) {
	th := w.partition(hint.Key()).state
	w.Stats.Steps.Hints++
	if hint.Kind == core.WakeCompact {
		w.summaries++
	}
	if th.hints++; th.hints > tooMany && w.config.Tenants == 0 {
		w.fail(th.p, "%d hints are under way", th.hints)
	}
	if w.config.Programs.Old && w.config.Faults == 0 && w.now > oldSettles && w.now < w.stop && th.hints > 2 {
		w.fail(th.p, "%d hints are under way where nobody can claim", th.hints)
	}
	w.at(delay, func() {
		if w.config.Processes.Local && from != w.local {
			th.hints-- // the queue was the process's own
			return
		}
		w.queue.arrived = append(w.queue.arrived, hint)
		if w.queue.gathered {
			return
		}
		w.queue.gathered = true
		wait := time.Duration(0)
		if w.config.Processes.Batch {
			wait = gather
		}
		w.at(wait, w.deliver)
	})
}

// deliver hands out what has arrived.
func (w *World) deliver() {
	hints := w.queue.arrived
	w.queue.arrived, w.queue.gathered = nil, false
	for len(hints) > 0 {
		n := 1
		if w.config.Processes.Batch {
			n = min(batchSize, len(hints))
		}
		for _, hint := range hints[:n] {
			w.partition(hint.Key()).state.hints--
		}
		if w.config.Processes.Local {
			w.handLocally(hints[0])
		} else {
			w.handOut(hints[:n:n])
		}
		hints = hints[n:]
	}
}

// handOut is one invocation of the step function.
func (w *World) handOut(hints []core.WakeUp) {
	h := w.sandbox(roleStep)
	again := func(hint core.WakeUp) {
		if w.now < w.stop && w.random.chance(0.5) {
			w.rewake(hint) // from the dead-letter queue
			return
		}
		th := w.partition(hint.Key()).state
		th.returning++
		w.at(visibility, func() { th.returning-- })
		w.carry(h, hint, visibility)
	}
	began := w.millis()
	handed := make([]int, len(hints))
	for i, hint := range hints {
		th := w.partition(hint.Key()).state
		th.held, th.handed = th.held+1, th.handed+1
		handed[i] = th.handed
	}
	h.invoke(stepTimeout, func(ctx context.Context) {
		h.begin(hints)
		for i, err := range h.engine.runtime.WorkBatch(ctx, hints) {
			if err == nil {
				if hints[i].Kind == core.WakeWork { // the others are good for nothing that a head says
					w.checkAcknowledged(h, hints[i], handed[i], began)
					h.checkTended(hints[i].Key())
				}
				continue
			}
			if w.config.Faults == 0 && !w.config.Storage.Ambiguous && !w.config.Storage.Late && !h.ending {
				w.violate("a delivery failed without a fault: %v", err)
			}
			again(hints[i])
		}
	}, func(ok bool) {
		for _, hint := range hints {
			w.partition(hint.Key()).state.held--
		}
		if !ok {
			for _, hint := range hints {
				again(hint)
			}
		}
	})
}

// rewake is the consumer of the dead-letter queue: it tells the mailbox of a
// hint that nobody could work on.
func (w *World) rewake(hint core.WakeUp) {
	th := w.partition(hint.Key()).state
	th.hints++
	th.returning++
	w.at(w.random.between(time.Second, 4*time.Minute), func() {
		th.returning--
		h := w.sandbox(roleSweep)
		failed := true
		h.invoke(sweepTimeout, func(ctx context.Context) {
			failed = w.attempt(h, "rewake", func() error {
				_, err := h.engine.runtime.Rewake(ctx, hint)
				return err
			})
		}, func(bool) {
			if th.hints--; failed {
				w.rewake(hint) // its queue delivers again, too
			}
		})
	})
}

// handLocally gives the local host a hint from its own queue.
func (w *World) handLocally(hint core.WakeUp) {
	h := w.local
	if h == nil || h.dead || h.ending {
		return
	}
	th := w.partition(hint.Key()).state
	th.handed++
	h.spawn(func() {
		w.working++
		if err := h.engine.runtime.WorkLocal(h.ctx, hint); err != nil {
			w.carry(h, hint, w.random.between(5*time.Second, 30*time.Second))
		}
		w.working--
	})
}

package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// role is what a process is there for.
type role uint8

const (
	roleStep  role = iota // takes hints
	roleAPI               // takes requests of clients
	roleSweep             // looks for threads whose wake-ups were lost
	roleLocal             // all three
)

// host is one process: a Lambda sandbox, which takes one invocation after the
// other, or the local host.
type host struct {
	world    *World
	role     role
	name     string
	schemas  thread.Schemas
	skew     time.Duration
	engine   engine
	tasks    []*task
	dead     bool
	ending   bool                      // told to stop: takes nothing new
	frozen   time.Duration             // nothing in it moves until then
	blind    time.Duration             // until when a fault may keep it from seeing that a claim is lost
	hindered time.Duration             // until when one may keep it at something else
	unstored time.Duration             // when a fault last struck a log record that it put
	unheard  time.Duration             // when one last struck a head that it wrote
	owes     map[core.ThreadKey]uint64 // hints since the invocation began, by the version of the head that asks for one
	waits    map[core.ThreadKey]int64  // times of waits that have begun and whose hints are not sent: see startsWait
	sight    sight
	calls    []*called           // the same
	circuits map[string]*circuit // by the provider's name of the model
	lessons  map[string]lesson   // the same
	slow     time.Duration       // until when a claim of it may be on its way
	onDeath  []func()
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

// extra is the field that schema 3 adds to every record.
const extra = "next"

// Times of a process.
const (
	stepTimeout  = 120 * time.Second
	sweepTimeout = 55 * time.Second
	reserve      = 5 * time.Second  // of an invocation, after the end of its context
	killAfter    = 30 * time.Second // of a process that has to stop
	restartAfter = time.Second
)

// sandbox returns a process of the role, an idle one most of the time.
func (w *World) sandbox(r role) *host {
	if free := w.idle[r]; len(free) > 0 && w.random.chance(w.scripted.reuses()) {
		i := w.random.below(len(free))
		h := free[i]
		w.idle[r] = slices.Delete(free, i, i+1)
		if w.now < w.stop || !w.config.Programs.Mixed || h.schemas.Reads > thread.SchemaRead {
			return h
		}
	}
	return w.newHost(r)
}

func (w *World) newHost(r role) *host {
	h := &host{world: w, role: r, name: fmt.Sprintf("h%d", w.id()), schemas: w.program(r), owes: map[core.ThreadKey]uint64{}, waits: map[core.ThreadKey]int64{}, circuits: map[string]*circuit{}, lessons: map[string]lesson{}}
	if w.now < w.stop && w.config.Faults > 0 {
		h.skew = w.random.between(-200*time.Millisecond, 200*time.Millisecond)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	w.hosts[h.name] = h
	engine, err := newEngine(h)
	if err != nil {
		w.violate("build a runtime: %v", err)
	}
	h.engine = engine
	return h
}

// program draws what a new process understands and writes: that of this release, of one
// that does not know edited decisions, and of the next two.
func (w *World) program(r role) thread.Schemas {
	older, this := thread.Schemas{Reads: 1, Writes: 1}, thread.Schemas{Reads: thread.SchemaRead, Writes: 1}
	bridge, next := thread.Schemas{Reads: 3, Writes: 1}, thread.Schemas{Reads: 3, Writes: 3}
	switch {
	case w.config.Programs.Old && w.now < w.stop && r == roleAPI:
		return next
	case !w.config.Programs.Mixed:
		return this
	case w.config.Programs.Old && w.now < w.stop:
		return older
	case w.now >= w.stop:
		return []thread.Schemas{bridge, next}[w.random.below(2)]
	}
	return []thread.Schemas{older, this, bridge, next}[w.random.below(4)]
}

// invoke runs f in the process as one invocation, which ends within the limit or takes
// the process down (0: no limit). after receives whether f has ended. A process that is
// done is free for the next invocation.
func (h *host) invoke(limit time.Duration, f func(ctx context.Context), after func(ok bool)) {
	w := h.world
	over := false
	h.spawn(func() {
		ctx := h.ctx
		if limit > 0 {
			var stop context.CancelFunc
			ctx, stop = h.deadline(ctx, h.clock().Add(limit-reserve))
			defer stop()
		}
		clear(h.owes)
		clear(h.waits)
		f(ctx)
		if over = true; h.dead {
			return
		}
		h.checkHinted()
		h.checkEarlyOver()
		switch {
		case h.role == roleLocal: // it also has other work
		case h.ending:
			h.kill()
		default:
			w.idle[h.role] = append(w.idle[h.role], h)
		}
		after(true)
	})
	if limit > 0 {
		w.at(limit, func() {
			if !over && !h.dead {
				if w.config.Faults == 0 {
					w.violate("an invocation of %s was not over at its limit of %s", h.name, limit)
				}
				h.kill()
			}
		})
	}
	h.lost(func() {
		if !over {
			after(false)
		}
	})
	if w.config.Processes.Killed && h.role != roleSweep && w.now < w.stop && w.random.chance(0.4) {
		within := max(40*time.Second, w.config.Slow+20*time.Second)
		if h.role == roleAPI { // most requests are soon over
			within = max(12*time.Second, w.config.Slow)
		}
		w.at(w.random.between(0, within), func() {
			if !over {
				h.kill()
			}
		})
	}
	if w.stopping() {
		w.at(w.random.between(100*time.Millisecond, 30*time.Second), func() {
			if !over {
				h.terminate()
			}
		})
	}
}

// stopping draws whether the process of an invocation has to stop.
func (w *World) stopping() bool {
	switch {
	case w.now >= w.stop || w.config.People.Calm || w.config.Processes.Killed:
		return false
	case w.config.Processes.Restarts:
		return w.random.chance(0.6)
	}
	return w.random.chance(0.05)
}

// terminate tells the process to stop, and kills it when it does not.
func (h *host) terminate() {
	w := h.world
	if h.dead || h.ending {
		return
	}
	h.ending = true
	w.Stats.Steps.Stops++
	w.strike(SiteHost, FaultStopped)
	h.cancel(errStopping)
	h.poll()
	w.at(killAfter, func() {
		if h.dead {
			return
		}
		if w.config.Faults == 0 && !w.config.Storage.Late && len(h.tasks) > 0 {
			w.violate("%s must stop and still runs %d tasks after %s", h.name, len(h.tasks), killAfter)
		}
		h.kill()
	})
}

// freeze stops the process for a while: its claims run out, and it does not know.
func (h *host) freeze(d time.Duration) {
	h.frozen = max(h.frozen, h.world.now+d)
	h.blind = max(h.blind, h.frozen)
}

// lost calls f when the process dies.
func (h *host) lost(f func()) { h.onDeath = append(h.onDeath, f) }

// kill ends the process at once.
func (h *host) kill() {
	if h.dead {
		return
	}
	w := h.world
	h.dead = true
	h.expectTakeover()
	h.cancel(errStopping)
	w.idle[h.role] = slices.DeleteFunc(w.idle[h.role], func(o *host) bool { return o == h })
	if w.config.Trace != nil {
		w.config.Trace("%s dies", h.name)
	}
	for _, f := range h.onDeath {
		f()
	}
	h.giveUpWaits()
	if h == w.local {
		w.local, w.working = nil, 0
		w.at(restartAfter, w.restart)
	}
}

// drop forgets a task that is over.
func (h *host) drop(t *task) {
	h.tasks = slices.DeleteFunc(h.tasks, func(o *task) bool { return o == t })
}

// restart starts the local host: it takes every claim back, since no other
// process can live, and sweeps.
func (w *World) restart() {
	h := w.newHost(roleLocal)
	w.local = h
	w.auditor.startTurns()
	h.spawn(func() {
		keys := make([]core.ThreadKey, len(w.storage.partitions))
		for i, p := range w.storage.partitions {
			keys[i] = p.key
		}
		for w.attempt(h, "reclaim", func() error { return h.engine.reclaim(h.ctx, keys) }) {
			_ = w.sleep(h.ctx, time.Second)
		}
	})
	if w.stopping() {
		w.at(w.random.between(time.Second, 60*time.Second), h.terminate)
	}
}

// attempt reports whether f failed and is to be tried again.
func (w *World) attempt(h *host, what string, f func() error) (again bool) {
	err := f()
	if err != nil && w.config.Trace != nil {
		w.config.Trace("%s: %s: %v", h.name, what, err)
	}
	return err != nil && (!h.ending || h.role != roleLocal)
}

// sweep is the schedule of the sweeper.
func (w *World) sweep() {
	w.auditor.lookForForgotten()
	w.auditor.lookForStranded()
	w.auditor.lookForSlots()
	w.push(sweepEvery, w.sweep, true)
	if w.config.Processes.Unswept {
		return
	}
	h := w.local
	if w.config.Processes.Local {
		if h == nil || h.ending {
			return
		}
		h.spawn(func() {
			_, _ = h.engine.runtime.Sweep(h.ctx)
			h.sumUsage(h.ctx)
		})
		return
	}
	h = w.sandbox(roleSweep)
	h.invoke(sweepTimeout, func(ctx context.Context) {
		w.attempt(h, "sweep", func() error {
			_, err := h.engine.runtime.Sweep(ctx)
			return err
		})
		h.sumUsage(ctx)
	}, func(bool) {})
}

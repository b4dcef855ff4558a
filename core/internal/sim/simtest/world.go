package simtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Times of a world, by its clock.
const (
	lease      = 30 * time.Second
	visibility = 40 * time.Second // until a message whose worker is gone is delivered again
	pauseFor   = 90 * time.Second
	sweepEvery = time.Minute + 137*time.Millisecond // at no instant at which a tool is likely to wake
	patience   = 30 * time.Minute                   // for everything to be over
	answer     = 29 * time.Second                   // a person waits for, before trying again
	again      = 5 * time.Second
)

// base is when every world begins, by the clock that the runtime sees. It is when
// bubbles begin.
var base = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	key      = core.ThreadKey{Tenant: "simtest", Thread: "thread"}
	identity = core.Identity{Tenant: "simtest", User: "person"}
)

// world is one simulated world: one scenario with at most a few faults.
type world struct {
	scenario Scenario
	outside  World
	known    *registry.Registry // for those who take requests, and run no parts
	strikes  []strike
	shift    time.Duration // of the clock that parts read by themselves
	seed     uint64

	store store.Backend
	over  chan struct{}   // closed at the end
	ctx   context.Context // ends then
	alive atomic.Int64    // goroutines
	waits atomic.Int64
	took  time.Duration // until nothing was to be done any more; 0: that never came

	mu        sync.Mutex // guards what follows
	begin     time.Time
	processes int
	workers   *process
	clients   *process
	counts    map[env.Point]int // passings
	sites     []site            // in order
	struck    int               // of strikes
	takeovers int               // processes that came after another one
	thaws     time.Time         // when the last paused process continues
	turns     time.Time
	busy      int           // deliveries under way
	moved     chan struct{} // closed with the next news
	repeat    bool          // the request that was just responded to is made again
	begun     map[string]chan struct{}
	children  []core.ThreadKey // the other threads, in the order in which they were first written
	told      int              // deliveries of an event
	event     core.ID          // its run
	problems  []string
	watched   watched
}

func newWorld(s Scenario, c cast, strikes ...strike) *world {
	return &world{
		scenario: s, outside: c.world(), known: c.known, strikes: strikes, seed: 1, store: memory.New(),
		counts: map[env.Point]int{}, begun: map[string]chan struct{}{}, watched: newWatched(),
	}
}

// play runs the world in a separate bubble, and returns its outcome.
func (w *world) play(t *testing.T) outcome {
	var out outcome
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(w.shift) // nothing runs: it takes no time
		w.over, w.moved, w.begin = make(chan struct{}), make(chan struct{}), time.Now()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		w.ctx = ctx
		w.start(w.sweeps)
		w.live(ctx)
		out = w.outcome(ctx)
		close(w.over)
		cancel()
		w.unwind()
	})
	return out
}

// start starts a goroutine of the world.
func (w *world) start(f func()) {
	w.alive.Add(1)
	env.System().Start(func() {
		defer w.alive.Add(-1)
		f()
	})
}

// unwind gives the time to end to what still runs when the world is over: a tool that
// sleeps, of a process that is gone. The clock of a bubble stops with its first goroutine.
func (w *world) unwind() {
	for wait := time.Millisecond; w.alive.Load() > 0 && wait < 100*time.Hour; wait *= 2 {
		time.Sleep(wait)
	}
}

// live lets the person act, and waits until nothing moves any more.
func (w *world) live(ctx context.Context) {
	for i, act := range w.scenario.Person {
		if !w.perform(ctx, i, act) {
			return
		}
	}
	if !w.await("the end of all work", w.rests) {
		return
	}
	w.took = time.Since(w.begin)
	w.mu.Lock()
	late := time.Until(w.thaws)
	w.mu.Unlock()
	if late > 0 {
		w.pause(late + time.Second)
	}
	w.await("the end of all work, after a pause", w.rests)
}

// rests reports whether nothing is to be done on the thread, nor on those of children,
// and no process works on them.
func (w *world) rests(head thread.Head) bool {
	w.mu.Lock()
	busy, all := w.busy, slices.Insert(slices.Clone(w.children), 0, key)
	w.mu.Unlock()
	return head.DueAt == 0 && busy == 0 && !slices.ContainsFunc(all, func(key core.ThreadKey) bool {
		head, err := w.store.Head(context.Background(), key)
		return err != nil || head.DueAt != 0
	})
}

// wrote notes a thread that is written to.
func (w *world) wrote(to core.ThreadKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to != key && !slices.Contains(w.children, to) {
		w.children = append(w.children, to)
	}
}

// await waits until the thread is as wanted.
func (w *world) await(what string, wanted func(thread.Head) bool) bool {
	limit := time.Now().Add(patience)
	for {
		w.mu.Lock()
		moved := w.moved
		w.mu.Unlock()
		head, err := w.store.Head(context.Background(), key)
		if err != nil {
			w.problem("read the head: %v", err)
			return false
		}
		if wanted(head) {
			return true
		}
		timer := time.NewTimer(time.Until(limit))
		select {
		case <-moved:
			timer.Stop()
		case <-timer.C:
			w.problem("%s was not reached within %s: the run has the status %d, its cursor is %d", what, patience, head.Run.Status, head.Run.Cursor)
			return false
		}
	}
}

// wake wakes those who await something.
func (w *world) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// now is the clock that the runtime sees.
func (w *world) now() time.Time { return base.Add(time.Since(w.begin)) }

func (w *world) ended() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// pause waits, at most until the end of the world.
func (w *world) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.over:
	}
}

func (w *world) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turn is how long a new goroutine waits, so that each starts at a different instant: the
// clock reaches it when all others wait.
func (w *world) turn() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.turns.After(now) {
		w.turns = now
	}
	w.turns = w.turns.Add(1)
	return w.turns.Sub(now)
}

// apart is a moment that is added to a wait, so that no two goroutines wake at one
// instant, nor at that of a new one.
func (w *world) apart() time.Duration { return time.Duration(w.waits.Add(1)) * time.Microsecond }

func (w *world) stopped(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thaws = time.Now().Add(d)
}

// passed counts the passing of a point and returns the fault that strikes there. A
// passing after an operation belongs to the one that its process has started first.
func (w *world) passed(p *process, at env.Point, after bool) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := site{point: at}
	if !after {
		w.counts[at]++
		here.n = w.counts[at]
		w.sites = append(w.sites, here)
		p.open[at] = append(p.open[at], here.n)
	} else if open := p.open[at]; len(open) > 0 {
		here.n, p.open[at] = open[0], open[1:]
	}
	if w.struck < len(w.strikes) {
		if s := w.strikes[w.struck]; s.site == here && s.after() == after {
			w.struck++
			if s.fault == Duplicate && at == point.Respond {
				w.repeat = true
				return ""
			}
			return s.fault
		}
	}
	return ""
}

// worker returns the process that takes messages, another one when it is gone.
func (w *world) worker() *process { return w.one(&w.workers, roleWorker) }

// client returns the process that takes requests.
func (w *world) client() *process { return w.one(&w.clients, roleClient) }

func (w *world) one(of **process, role string) *process {
	w.mu.Lock()
	p := *of
	w.mu.Unlock()
	if p != nil && p.works() {
		return p
	}
	next := w.newProcess(role)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != nil {
		w.takeovers++
	}
	*of = next
	return next
}

package simtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// process is one process of a world: a runtime of parts that no other process has. Every
// operation of it passes gate, where it ends or stops.
type process struct {
	world   *world
	name    string
	runtime *host.Host
	dead    chan struct{} // closed when it dies

	open map[env.Point][]int // passings that have started; the world's mu guards it

	mu     sync.Mutex // guards what follows
	killed bool
	thaws  time.Time // it pauses until then
	armed  Fault     // for its next write or hint
	random uint64
}

// The roles of processes. Only workers run code of the parts.
const (
	roleWorker = "worker"
	roleClient = "api"
)

// newProcess starts a process, a worker with separate parts.
func (w *world) newProcess(role string) *process {
	w.mu.Lock()
	w.processes++
	p := &process{world: w, name: fmt.Sprint(role, w.processes), dead: make(chan struct{}), open: map[env.Point][]int{}, random: w.seed ^ uint64(w.processes)<<32}
	w.mu.Unlock()
	c := host.Options{
		Env: p.env(), Store: &storetest.Faulty{Backend: w.store, Around: p.around}, Waker: waker{p}, Registry: w.known,
		Worker: p.name, Lease: lease, Logger: slog.New(slog.DiscardHandler),
	}
	var err error
	if role == roleWorker {
		c.Registry = nil
		c.Agents, err = w.cast(p)
	}
	if err == nil {
		p.runtime, err = host.New(c)
	}
	if err != nil {
		w.problem("build a runtime from the parts: %v", err)
		p.die()
	}
	return p
}

// gate lets those pass who live. Those of a process that has died wait for the end of
// the world, and end with it.
func (p *process) gate() {
	for {
		p.mu.Lock()
		killed, wait := p.killed, time.Until(p.thaws)
		p.mu.Unlock()
		switch {
		case p.world.ended():
			runtime.Goexit()
		case killed:
			<-p.world.over
		case wait > 0:
			p.world.pause(wait + p.world.apart())
		default:
			return
		}
	}
}

func (p *process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.killed = true
		close(p.dead)
	}
}

// freeze stops the process for d.
func (p *process) freeze(d time.Duration) {
	p.mu.Lock()
	p.thaws = time.Now().Add(d)
	p.mu.Unlock()
	p.world.stopped(d)
}

// works reports whether the process lives and does not pause.
func (p *process) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed && !time.Now().Before(p.thaws)
}

// env is the process's way to the world: the bubble's clock and goroutines, of which
// each begins, and wakes, when the others wait, so that their order is always the same.
func (p *process) env() *env.Env {
	w, system := p.world, env.System()
	return &env.Env{
		Now: w.now,
		Sleep: func(ctx context.Context, d time.Duration) error {
			if err := w.sleep(ctx, d+w.apart()); err != nil {
				return err
			}
			p.gate()
			return nil
		},
		Wait: func(ctx context.Context, done <-chan struct{}) error {
			select {
			case <-done:
			case <-w.over:
			default:
				select {
				case <-done:
				case <-ctx.Done():
				case <-w.over:
				}
			}
			p.gate()
			select {
			case <-done:
				return nil
			default:
				return context.Cause(ctx)
			}
		},
		Deadline: func(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
			return system.Deadline(ctx, t.Add(w.shift))
		},
		Random: p.fill,
		Start: func(f func()) {
			wait := w.turn()
			w.start(func() {
				w.pause(wait)
				p.gate()
				f()
			})
		},
		After: func(d time.Duration, f func()) func() bool {
			return system.After(d+w.apart(), func() {
				w.alive.Add(1)
				defer w.alive.Add(-1)
				p.gate()
				f()
			})
		},
		Reach: p.reach,
	}
}

// fill is env.Env.Random: splitmix64.
func (p *process) fill(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		p.random += 0x9e3779b97f4a7c15
		z := p.random
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], z^z>>31)
		b = b[copy(b, word[:]):]
	}
}

// reach is env.Env.Reach.
func (p *process) reach(at env.Point) (done func()) {
	p.pass(at, false)
	return func() { p.pass(at, true) }
}

// pass is one side of an I/O point: here faults strike.
func (p *process) pass(at env.Point, after bool) {
	p.gate()
	switch fault := p.world.passed(p, at, after); fault {
	case CrashBefore, CrashAfter:
		p.die()
	case PauseBefore, PauseAfter:
		p.freeze(pauseFor)
	case Refused, Ambiguous, Lost, Duplicate:
		p.arm(fault)
	default:
		if after && at != point.Tool { // a tool may end while its turn is about to be written
			p.arm("")
		}
	}
	p.gate()
}

func (p *process) arm(f Fault) {
	p.mu.Lock()
	p.armed = f
	p.mu.Unlock()
}

// disarm returns the fault that strikes the operation which is about to be done.
func (p *process) disarm() Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.armed
	p.armed = ""
	return f
}

// errLost is the error of an operation whose request, or response, is lost.
var errLost = core.Errorf(core.CodeUnavailable, "no response")

// around is the process's way to the store.
func (p *process) around(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
	p.gate()
	fault := Fault("")
	if op.Writes() {
		fault = p.disarm()
	}
	if fault == Refused {
		return errLost
	}
	err := do(ctx)
	if op.Method == "Commit" {
		p.world.wrote(op.Key)
		p.world.wake()
	}
	if fault == Ambiguous {
		err = errLost
	}
	p.gate()
	return err
}

// waker is a process's way to the queue.
type waker struct{ process *process }

// Wake implements mailbox.Waker.
func (k waker) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	p := k.process
	p.gate()
	fault := p.disarm()
	switch fault {
	case Refused:
		return errLost
	case Lost:
		return nil
	}
	p.world.send(hint, delay)
	switch fault {
	case Duplicate:
		p.world.send(hint, delay)
	case Ambiguous:
		return errLost
	}
	return nil
}

package simtest

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
)

// soon is how far ahead a message keeps the world from being at rest.
const soon = 5 * time.Second

// send puts a message into the queue.
func (w *world) send(hint core.WakeUp, delay time.Duration) {
	if delay < soon {
		w.working(1)
	}
	wait := delay + w.turn()
	w.start(func() {
		if delay < soon {
			defer w.working(-1)
		}
		w.pause(wait)
		for try := 1; try <= 5 && !w.ended() && !w.deliver(hint); try++ {
		}
	})
}

// deliver gives a message to a worker, and reports whether it was deleted. One that was
// not is delivered again.
func (w *world) deliver(hint core.WakeUp) (deleted bool) {
	w.working(1)
	p, done, came, gone := w.worker(), make(chan bool, 1), time.Now(), make(chan struct{})
	w.start(func() {
		defer close(gone)
		passed := p.reach(point.Receive)
		if p.disarm() == Duplicate {
			w.send(hint, 0)
		}
		passed()
		err := p.runtime.WorkLocal(w.ctx, hint)
		p.gate()
		passed = p.reach(point.DeleteMessage)
		done <- err == nil
		passed()
	})
	w.start(func() { // whether the message is deleted or not: a worker handles it until then
		select {
		case <-gone:
		case <-p.dead:
		case <-w.over:
		}
		w.working(-1)
	})
	timer := time.NewTimer(visibility)
	defer timer.Stop()
	select {
	case deleted = <-done:
		if !deleted {
			w.pause(time.Second)
		}
	case <-p.dead:
		select {
		case deleted = <-done: // it died after that
		default:
			w.pause(time.Until(came.Add(visibility)))
		}
	case <-timer.C:
	case <-w.over:
	}
	return deleted
}

// working counts deliveries.
func (w *world) working(n int) {
	w.mu.Lock()
	w.busy += n
	w.mu.Unlock()
	if n < 0 && !w.ended() {
		w.wake()
	}
}

// sweeps is the sweep's schedule.
func (w *world) sweeps() {
	for w.pause(sweepEvery); !w.ended(); w.pause(sweepEvery) {
		p, done := w.worker(), make(chan struct{})
		wait := w.turn()
		w.start(func() {
			w.pause(wait)
			p.gate()
			_, _ = p.runtime.Sweep(w.ctx) // the next one comes in a minute
			close(done)
		})
		select {
		case <-done:
		case <-p.dead:
		case <-w.over:
		}
	}
}

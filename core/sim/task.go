package sim

import (
	"context"
	"iter"
)

// task is one function of a process: a coroutine that the world resumes.
type task struct {
	host  *host
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool

	waits  uint64 // a wake-up for an earlier wait is stale
	parked bool
	called bool // the world is about to resume it
	done   <-chan struct{}
	gone   <-chan struct{}
	over   bool
}

// killed unwinds a task whose process died, when the world is over.
type killed struct{}

// spawn starts f in the process, a little later.
func (h *host) spawn(f func()) *task {
	w := h.world
	t := &task{host: h}
	t.next, t.end = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if e := recover(); e != nil && !isKilled(e) {
				w.failPanic(e)
			}
		}()
		t.yield = yield
		f()
	})
	h.tasks = append(h.tasks, t)
	w.tasks = append(w.tasks, t)
	w.at(0, func() { w.resume(t) })
	return t
}

func isKilled(e any) bool { _, ok := e.(killed); return ok }

// resume lets the task run until it waits again.
func (w *World) resume(t *task) {
	if t.host.dead || t.over {
		return
	}
	if left := t.host.frozen - w.now; left > 0 {
		wait := t.waits
		w.at(left, func() {
			if t.waits == wait {
				w.resume(t)
			}
		})
		return
	}
	t.parked, t.called, t.done, t.gone = false, false, nil, nil
	t.waits++
	was := w.task
	w.task = t
	_, more := t.next()
	w.task = was
	if !more {
		t.over = true
		t.host.leave(t)
	}
	if !t.host.dead {
		t.host.poll()
	}
}

// park waits until wake is called for this wait, done is closed, or ctx ends.
func (t *task) park(ctx context.Context, done <-chan struct{}) {
	t.done, t.gone, t.parked = done, ctx.Done(), true
	if !t.yield(struct{}{}) {
		panic(killed{})
	}
}

// wake resumes the task if it is still in the wait of that number.
func (t *task) wake(wait uint64) {
	if t.parked && t.waits == wait {
		t.host.world.resume(t)
	}
}

// poll calls the tasks of the process whose channel or context has ended.
func (h *host) poll() {
	for _, t := range h.tasks {
		if t.parked && !t.called && (closed(t.done) || closed(t.gone)) {
			t.called = true
			wait := t.waits
			h.world.at(0, func() { t.wake(wait) })
		}
	}
}

func closed(c <-chan struct{}) bool {
	if c == nil {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// current is the task that runs. Unwinding ones get no further.
func (w *World) current() *task {
	if w.over || w.task == nil || w.task.host.dead {
		panic(killed{})
	}
	return w.task
}

package sim

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core/env"
)

// task is one function of a process: a coroutine that the world resumes.
type task struct {
	host      *host
	coroutine *coroutine

	waits  uint64 // a wake-up for an earlier wait is stale
	parked bool
	called bool                      // the world is about to resume it
	from   *task                     // the one that has started it; nil: the world has
	claims map[*threadState]*holding // those that it has taken
	deed   *deed                     // of the person whose request it is; nil: it is not checked
	done   <-chan struct{}
	gone   <-chan struct{}
	dies   bool // a fault keeps it here until its process dies
	over   bool
}

// coroutine runs one function after the other: its stack, once grown, serves
// them all.
type coroutine struct {
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool
	f     func()
	free  bool // f is over
}

// spare are coroutines without a function, of worlds that are over too.
var spare struct {
	sync.Mutex
	coroutines []*coroutine
}

// newCoroutine returns a spare one, or a new one.
func newCoroutine() *coroutine {
	spare.Lock()
	defer spare.Unlock()
	if n := len(spare.coroutines); n > 0 {
		c := spare.coroutines[n-1]
		spare.coroutines = spare.coroutines[:n-1]
		return c
	}
	c := new(coroutine)
	c.next, c.end = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for {
			c.f()
			c.f, c.free = nil, true
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return c
}

// spawn starts f in the process, a little later.
func (h *host) spawn(f func()) *task {
	w := h.world
	t := &task{host: h, coroutine: newCoroutine()}
	if w.task != nil && w.task.host == h {
		t.from = w.task
	}
	t.coroutine.free = false
	t.coroutine.f = func() {
		defer func() {
			if e := recover(); e != nil {
				w.failPanic(e)
			}
		}()
		f()
	}
	h.tasks = append(h.tasks, t)
	if len(w.tasks) > 2*w.standing+1000 {
		w.tasks = slices.DeleteFunc(w.tasks, func(t *task) bool { return t.over })
		w.standing = len(w.tasks)
	}
	w.tasks = append(w.tasks, t)
	w.at(0, func() { w.resume(t) })
	return t
}

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
	t.coroutine.next()
	w.task = was
	if t.coroutine.free {
		t.over = true
		t.host.drop(t)
		spare.Lock()
		spare.coroutines = append(spare.coroutines, t.coroutine)
		spare.Unlock()
		t.coroutine = nil
	}
	if !t.host.dead {
		t.host.poll()
	}
}

// park waits until wake is called for this wait, done is closed, or ctx ends.
func (t *task) park(ctx context.Context, done <-chan struct{}) {
	t.done, t.gone, t.parked = done, ctx.Done(), true
	if !t.coroutine.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// unwind releases the remaining tasks when the world is over. A task ends by Goexit,
// which no recover of the program sees; it takes along the goroutine that has ended the
// coroutine.
func (w *World) unwind() {
	outside := env.System() // a world is over: nothing is simulated any more
	for _, t := range w.tasks {
		if t.over {
			continue
		}
		gone := make(chan struct{})
		outside.Start(func() {
			defer close(gone)
			t.coroutine.end()
		})
		<-gone
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
	if w.over || w.task.host.dead {
		runtime.Goexit()
	}
	return w.task
}

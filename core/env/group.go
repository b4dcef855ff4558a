package env

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Group runs functions concurrently and waits for all of them. The first error cancels the
// context of the functions. A panic becomes an error of the function that panicked, a
// *PanicError.
type Group struct {
	env     *Env
	ctx     lazy
	mu      sync.Mutex // guards what follows
	err     error
	running int           // or to start later
	idle    chan struct{} // closed when nothing runs; made by a Wait that has to wait
	stop    func() bool   // of what is to start later; nil: nothing
}

// Group returns a group and the context that its functions should use. The
// caller must call Wait.
func (e *Env) Group(ctx context.Context) (*Group, context.Context) {
	g := &Group{env: e, ctx: lazy{parent: ctx}}
	return g, &g.ctx
}

// Go starts f.
func (g *Group) Go(f func(ctx context.Context) error) {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
	g.env.Start(func() { g.run(f) })
}

func (g *Group) run(f func(ctx context.Context) error) {
	defer g.done()
	if err := Protect(func() error { return f(&g.ctx) }); err != nil {
		g.Fail(err)
	}
}

// Fail is an error that none of the functions has returned: the first one cancels their
// context. It does not wait.
func (g *Group) Fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		g.ctx.end(err)
	}
}

// Later starts f when d has passed, unless Cancel comes first: then it never
// starts, and costs no goroutine. A group has one of them at most.
func (g *Group) Later(d time.Duration, f func(ctx context.Context) error) {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
	stop := g.env.After(d, func() { g.run(f) })
	g.mu.Lock()
	g.stop = stop
	g.mu.Unlock()
}

// done notes the end of one function.
func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Cancel ends the context of the group's functions.
func (g *Group) Cancel() {
	g.ctx.end(nil)
	g.mu.Lock()
	stop := g.stop
	g.stop = nil
	g.mu.Unlock()
	if stop != nil && stop() { // it will never run
		g.done()
	}
}

// Wait returns when every function has returned, with the first error.
func (g *Group) Wait() error {
	g.mu.Lock()
	if g.running > 0 && g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	if idle != nil {
		_ = g.env.Wait(context.Background(), idle) // which never ends
	}
	g.ctx.end(nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Each calls f with every number below n, concurrently, and returns when all calls have
// returned, with the error of the lowest number. It costs less than a Group: the calls
// share the caller's context, and a failure does not end the others. The caller's goroutine
// takes the numbers itself, in order, as long as its calls return. One other goroutine is
// ready while numbers remain, so that a call which waits holds up none of the others. A
// panic of f becomes a *PanicError.
func (e *Env) Each(n int, f func(i int) error) error {
	if n == 0 {
		return nil
	}
	a := eaches.Get().(*each)
	a.env, a.f, a.n, a.failed = e, f, n, n
	a.next.Store(0)
	a.ready.Store(false)
	a.holders.Store(1)
	a.open.Store(int64(n))
	if a.help == nil {
		a.help = func() {
			a.ready.Store(false)
			a.work()
			_ = a.release() // the caller has it
		}
	}
	a.work()
	if idle := a.wait(); idle != nil {
		_ = e.Wait(context.Background(), idle) // which never ends
	}
	return a.release()
}

// eaches are the unused ones.
var eaches = sync.Pool{New: func() any { return new(each) }}

// each is an Each under way.
type each struct {
	env  *Env
	f    func(i int) error
	n    int
	help func() // the work of the second goroutine

	next    atomic.Int64 // the next number; n and more: all are taken
	ready   atomic.Bool  // another goroutine was started and has not yet come for a number
	holders atomic.Int64 // the caller, and goroutines that were started and have not ended
	open    atomic.Int64 // numbers whose calls have not returned

	mu     sync.Mutex // guards what follows
	idle   chan struct{}
	failed int // the lowest number whose call failed; n: none
	err    error
}

// release is the end of a holder. It returns the error by then.
func (a *each) release() error {
	a.mu.Lock()
	err := a.err
	a.mu.Unlock()
	if a.holders.Add(-1) == 0 {
		a.env, a.f, a.idle, a.err = nil, nil, nil, nil
		eaches.Put(a)
	}
	return err
}

// work takes numbers and calls f with them until all are taken.
func (a *each) work() {
	for {
		i := int(a.next.Add(1)) - 1
		if i >= a.n {
			return
		}
		if i+1 < a.n && !a.ready.Swap(true) {
			a.holders.Add(1)
			a.env.Start(a.help)
		}
		a.done(i, Protect(func() error { return a.f(i) }))
	}
}

// done is the end of a call.
func (a *each) done(i int, err error) {
	if err != nil {
		a.mu.Lock()
		if i < a.failed {
			a.failed, a.err = i, err
		}
		a.mu.Unlock()
	}
	if a.open.Add(-1) > 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.idle != nil {
		close(a.idle)
	}
}

// wait returns what is closed when every call has returned; nil: they have. Every
// number has been taken by then.
func (a *each) wait() <-chan struct{} {
	if a.open.Load() == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open.Load() == 0 {
		return nil
	}
	a.idle = make(chan struct{})
	return a.idle
}

// PanicError is a panic of a tool, hook or provider, made an error of that call.
type PanicError struct {
	Value any
	Stack []byte // for the log, never for a client
}

// Error implements error.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrorAttrs returns the attributes of a log line about err: the error, and of a panic its stack.
func ErrorAttrs(err error) []any {
	attrs := []any{"error", err}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, "stack", string(panicked.Stack))
	}
	return attrs
}

// Protect calls f and turns a panic into a *PanicError.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

package env

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// Group runs functions concurrently and waits for all of them. The first error
// cancels the context that the functions were given. A panic becomes an error
// of the function that panicked, a *PanicError.
type Group struct {
	env    *Env
	ctx    context.Context
	cancel context.CancelCauseFunc
	wait   sync.WaitGroup
	mu     sync.Mutex
	err    error
}

// Group returns a group and the context that its functions should use. The
// caller must call Wait.
func (e *Env) Group(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{env: e, ctx: ctx, cancel: cancel}, ctx
}

// Go starts f.
func (g *Group) Go(f func(ctx context.Context) error) {
	g.wait.Add(1)
	g.env.Start(func() {
		defer g.wait.Done()
		if err := Protect(func() error { return f(g.ctx) }); err != nil {
			g.mu.Lock()
			if g.err == nil {
				g.err = err
				g.cancel(err)
			}
			g.mu.Unlock()
		}
	})
}

// Cancel ends the context of the group's functions.
func (g *Group) Cancel() { g.cancel(context.Canceled) }

// Wait returns when every function has returned, with the first error.
func (g *Group) Wait() error {
	g.wait.Wait()
	g.cancel(context.Canceled)
	return g.err
}

// PanicError is a panic of a tool, hook or provider, made an error of that call.
type PanicError struct {
	Value any
	Stack []byte // for the log, never for a client
}

// Error implements error.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Protect calls f and turns a panic into a *PanicError.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

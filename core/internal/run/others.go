package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// others is a call's access to other threads. A call that was abandoned gets none, and beside
// the commit of its turn it waits for that, as StartChild does.
type others struct{ parts *parts }

// ChildRun implements Others.
func (o others) ChildRun(ctx context.Context, call tool.Call, run core.ID) (r core.Run, err error) {
	err = o.access(ctx, func(to Others) (err error) {
		r, err = to.ChildRun(ctx, call, run)
		return err
	})
	return r, err
}

// CancelRun implements Others.
func (o others) CancelRun(ctx context.Context, call tool.Call, run core.ID) (n int, err error) {
	err = o.access(ctx, func(to Others) (err error) {
		n, err = to.CancelRun(ctx, call, run)
		return err
	})
	return n, err
}

// SendMessage implements Others.
func (o others) SendMessage(ctx context.Context, call tool.Call, m tool.Message) (id core.ID, err error) {
	err = o.access(ctx, func(to Others) (err error) {
		id, err = to.SendMessage(ctx, call, m)
		return err
	})
	return id, err
}

// FailedMessages implements Others.
func (o others) FailedMessages(ctx context.Context, call tool.Call) (failed []tool.FailedMessage, err error) {
	err = o.access(ctx, func(to Others) (err error) {
		failed, err = to.FailedMessages(ctx, call)
		return err
	})
	return failed, err
}

// RecoverMessages implements Others.
func (o others) RecoverMessages(ctx context.Context, call tool.Call, again bool) (n int, err error) {
	err = o.access(ctx, func(to Others) (err error) {
		n, err = to.RecoverMessages(ctx, call, again)
		return err
	})
	return n, err
}

func (o others) access(ctx context.Context, do func(Others) error) error {
	s := o.parts
	if !s.committed(ctx) || s.over.Load() {
		return errOver
	}
	err := do(s.step.s.others)
	if s.over.Load() {
		return errOver
	}
	switch core.CodeOf(err) {
	// The store's, or of a record of a newer program, which may read it: the call is tried again.
	case core.CodeThrottled, core.CodeUnavailable, core.CodeInternal, core.CodeSchema:
		return s.noted(ctx, err)
	}
	return err
}

package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// ErrStopping is the cause with which a host that is about to end cancels the
// contexts of its requests. Such a context ends an inline run's step: the run
// goes back to the queue and its stream ends with run_yield. Any other
// cancellation is a client that went away, and ends nothing.
var ErrStopping = core.Errorf(core.CodeUnavailable, "the host is stopping")

// Stream submits and shows the run as it happens: inline when the thread is
// free, from its commits when other work comes first or the same submission was
// accepted before. It returns after run_finish, or run_yield when the time is
// over and the run goes on in the queue. A refused submission is an error
// before the first event. That the sink's reader goes away, or ctx is
// cancelled, does not end the run: only a deadline or [ErrStopping] does.
func (r *Runtime) Stream(ctx context.Context, s mailbox.Submission, sink run.Sink) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	receipt, head, turn, err := r.submitInline(work, s)
	if err != nil {
		return receipt, err
	}
	f := follower{Runtime: r, key: s.Thread, run: receipt.RunID, dispatch: receipt.DispatchID, reader: reader{sink: sink}}
	if turn != nil {
		if f.next, err = r.inline(work, s.Thread, head, turn, &f.reader); err != nil {
			r.log.ErrorContext(ctx, "inline run stopped, its stream goes on from commits", "tenant", s.Thread.Tenant, "thread", s.Thread.Thread, "run", receipt.RunID, "error", err)
		}
		f.reader.restart(receipt.RunID)
	}
	return receipt, f.follow(ctx)
}

// submitInline submits and claims in one write, unless a suspect has the process
// to itself: then the run is left to the queue, and turn is nil, as when other
// work comes first.
func (r *Runtime) submitInline(ctx context.Context, s mailbox.Submission) (receipt mailbox.Receipt, head thread.Head, n *turn, err error) {
	n = &turn{turns: r.turns} // it does not wait
	if !r.turns.try(n, false, false) {
		receipt, err = r.mailbox.Submit(ctx, s)
		return receipt, head, nil, err
	}
	receipt, head, claimed, err := r.mailbox.SubmitAndClaim(ctx, s)
	if err != nil || !claimed {
		n.leave()
		return receipt, head, nil, err
	}
	return receipt, head, n, nil
}

// inline steps in a loop under one claim, as long as it is kept: over input
// that comes at the end, too, but never into the next run. It returns the
// sequence at which what the reader has not seen whole begins. The turn is over
// then: a stream that follows is no work that a suspect would have to wait for.
func (r *Runtime) inline(ctx context.Context, key core.ThreadKey, head thread.Head, turn *turn, to *reader) (next uint64, err error) {
	defer turn.leave()
	for {
		next = head.Seq + 1
		stepped, err := r.stepper.Step(ctx, run.Work{Key: key, Head: head, Keep: r.timeLeft(ctx)}, to.take)
		switch {
		case left(err):
			return next, r.handOn(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}, err)
		case err != nil || stepped.Retry || stepped.Outcome == thread.Done:
			return next, err
		case stepped.Outcome != thread.Continue:
			return stepped.Head.Seq + 1, nil
		}
		head = stepped.Head
	}
}

// reader is the sink of one stream. It is never called again after it failed,
// and sees one run_start and one last event.
type reader struct {
	sink    run.Sink
	gone    bool // nobody listens, or the last event was emitted
	started bool // run_start was emitted
	partial bool // part of a step was shown that is not committed
}

func (d *reader) take(e core.Event) error {
	switch e.Type {
	case core.EventRunStart:
		if d.started {
			return nil
		}
		d.started = true
	case core.EventStepEnd:
		d.partial = false
	default:
		d.partial = true
	}
	if d.gone {
		return errReaderGone
	}
	err := env.Protect(func() error { return d.sink(e) }) // a reader that panics is gone
	d.gone = err != nil || e.Type == core.EventRunFinish || e.Type == core.EventRunYield
	return err
}

// restart says that the step shown in part comes again.
func (d *reader) restart(runID core.ID) {
	if d.partial && !d.gone {
		_ = d.take(core.Event{Type: core.EventStepRestarted, RunID: runID}) // take remembers who is gone
	}
}

// detach keeps a context's values, its deadline and the cancellation of a host
// that stops, not any other: a client that goes away is not a cancel.
func (r *Runtime) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, ok := ctx.Deadline(); ok {
		free, cancel = r.env.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	watch, _ := r.env.Group(context.WithoutCancel(ctx))
	watch.Go(func(context.Context) error {
		if r.env.Wait(free, ctx.Done()) == nil && context.Cause(ctx) == ErrStopping {
			cancel()
		}
		return nil
	})
	return free, func() {
		cancel()
		_ = watch.Wait() // it only cancels
	}
}

// Follow shows a run from its first event and goes on until it is done or
// waits. It also ends when ctx does or nobody listens.
func (r *Runtime) Follow(ctx context.Context, id core.Identity, runID core.ID, sink run.Sink) error {
	key, dispatch, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	f := follower{Runtime: r, key: key, run: runID, dispatch: dispatch, reader: reader{sink: sink}}
	return f.follow(ctx)
}

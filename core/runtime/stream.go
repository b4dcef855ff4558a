package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// ErrStopping is the cause with which a host that is about to end cancels the
// contexts of its requests. Such a context ends an inline run's step: the run
// goes back to the queue and its stream ends with run_yield. Any other
// cancellation is a client that went away, and ends nothing.
var ErrStopping = core.Errorf(core.CodeUnavailable, "the host is stopping")

// hostKey is the context key of what ForHost makes.
type hostKey struct{}

// ForHost returns the context that a host's requests are to descend from. Its end
// with the cause [ErrStopping] reaches inline runs whose client has left, too: the
// context of such a request has ended before, for another cause.
func ForHost(ctx context.Context) context.Context { return context.WithValue(ctx, hostKey{}, ctx) }

// Stream submits and shows the run as it happens: inline when the thread is
// free, from its commits when other work comes first or the same submission was
// accepted before. It returns after run_finish, or run_yield when the time is
// over and the run goes on in the queue. A refused submission is an error
// before the first event. That the listener goes away, or ctx is
// cancelled, does not end the run: only a deadline or [ErrStopping] does.
//
// Two contexts are at work. The run's has only what may end it; the follower's is
// the request's own, so that nobody goes on reading for a client that has gone.
func (r *Runtime) Stream(ctx context.Context, s mailbox.Submission, listener Listener) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	work, cancel := r.detach(ctx)
	defer cancel()
	work, leave := r.metered(work, s.Thread)
	receipt, head, turn, err := r.submitInline(work, s)
	if err != nil {
		leave()
		return receipt, err
	}
	f := follower{Runtime: r, key: s.Thread, run: receipt.RunID, dispatch: receipt.DispatchID, audience: r.newAudience(listener)}
	f.greet(work, core.Identity{Tenant: s.Thread.Tenant, User: s.User}, false)
	if turn != nil {
		f.inline(work, head, turn)
	}
	leave() // who only follows works on no run
	return receipt, f.follow(ctx)
}

// submitInline submits and claims in one write, unless a suspect has the process
// to itself: then the run is left to the queue, and turn is nil, as when other
// work comes first.
//
// The turn comes before the claim, because a claim that has to be given back costs
// the thread a write and the run an attempt.
func (r *Runtime) submitInline(ctx context.Context, s mailbox.Submission) (receipt mailbox.Receipt, head thread.Head, n *turn, err error) {
	n = &turn{turns: r.turns} // it does not wait
	if !r.turns.try(n, false, false) {
		receipt, err = r.mailbox.Submit(ctx, s)
		return receipt, head, nil, err
	}
	n.attend(r.stepper, s.Thread)
	receipt, head, claimed, err := r.mailbox.SubmitAndClaim(ctx, s)
	if err != nil || !claimed {
		n.leave()
		return receipt, head, nil, err
	}
	return receipt, head, n, nil
}

// inline steps in a loop under one claim, as long as it is kept: over input
// that comes at the end, too, but never into the next run. The follower goes on
// at what the reader has not seen whole. The turn is over then: a stream that
// follows is no work that a suspect would have to wait for.
//
// It never waits for the reader, however slow: the thread, its queue and a person's
// cancel would wait with it.
//
// What the reader was shown of a step is worth something only if the step is
// committed, or, of a tool round, if its turn is: results are stored one by one and
// shown behind their storing. Of anything else another claim makes its own, with
// other deltas, and the reader is told so by step_restarted.
func (f *follower) inline(ctx context.Context, head thread.Head, turn *turn) {
	defer turn.leave()
	ctx, leave := f.metered(ctx, f.key)
	defer leave()
	sink := f.audience.emit // one function value for all steps
	var followed int64
	for {
		f.goOn(head) // before the step: should it fail, the follower begins where it began
		stepped, err := f.stepper.Step(ctx, run.Work{Key: f.key, Head: head, Keep: f.timeLeft(ctx), Proved: turn.proved, Followed: followed}, sink)
		whole := err == nil && !stepped.Retry
		if whole || head.Run.Cursor == thread.CursorTools { // what it has shown of a committed turn's round is stored
			f.audience.stored()
		}
		if whole && stepped.Outcome != thread.Done {
			f.goOn(stepped.Head)
		}
		if left(err) { // somebody else has the run, or will; that is no error of this stream
			hint := core.WakeUp{Tenant: f.key.Tenant, Thread: f.key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
			err = f.handOn(ctx, hint, err)
		}
		if err != nil {
			f.log.ErrorContext(ctx, "inline run stopped, its stream goes on from commits", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		}
		if !whole || stepped.Outcome != thread.Continue {
			f.shown.again = f.audience.restart(f.run)
			if err == nil { // a worker tells, since that may take longer than a stream should
				f.mailbox.WakeToTell(ctx, f.key, stepped.Head)
			}
			return
		}
		head, followed = stepped.Head, stepped.Followed
		turn.proved()
	}
}

// detach keeps a context's values, its deadline and the cancellation of a host
// that stops, not any other: a client that goes away is not a cancel.
//
// One function waits for the end of the request, or of its host where that is known,
// and reads the cause then: a cancelled context does not say why to whoever merely
// inherits it.
// The caller must call the returned function, which waits for it.
func (r *Runtime) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	values := context.WithoutCancel(ctx)
	var free context.Context
	var cancel context.CancelFunc
	if deadline, ok := ctx.Deadline(); ok {
		free, cancel = r.env.WithDeadline(values, deadline)
	} else {
		free, cancel = context.WithCancel(values)
	}
	host := ctx
	if all, ok := ctx.Value(hostKey{}).(context.Context); ok {
		host = all
	}
	watch, _ := r.env.Group(values)
	watch.Go(func(context.Context) error {
		if r.env.Wait(free, host.Done()) == nil && context.Cause(host) == ErrStopping {
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
// waits. It also ends, with run_yield, when ctx does or after Config.FollowFor, and
// without a word when nobody listens. An error comes before the first event.
func (r *Runtime) Follow(ctx context.Context, id core.Identity, runID core.ID, listener Listener) error {
	key, dispatch, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	f := follower{Runtime: r, key: key, run: runID, dispatch: dispatch, audience: r.newAudience(listener)}
	f.greet(ctx, id, false)
	return f.follow(ctx)
}

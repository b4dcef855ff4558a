package host

import (
	"context"
	"errors"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// EventsOf submits, as [Host.Play] does, and yields the run's events as they happen, from
// run_start to run_finish. A run that failed has an event error before run_finish; one that
// waits has tool_call_suspended events, and a run_finish whose termination is suspended.
//
// An error is the last item, and only of a stream that ends without its run: a refused
// submission, or ctx's cause. The run continues while the loop's body runs, and never waits
// for it. Breaking out of the loop has the effect of cancelling ctx, see [Host.Await].
// Each loop submits again.
func (r *Host) EventsOf(ctx context.Context, s mailbox.Submission) iter.Seq2[core.Event, error] {
	return Iterate(ctx, r.env, func(ctx context.Context, listener Listener) error {
		_, err := r.Play(ctx, s, listener, nil)
		if _, failed := errors.AsType[*RunError](err); failed { // its events have shown it
			return nil
		}
		return err
	})
}

// Iterate makes a loop over the events of a call that shows them to a listener, such as
// [Host.Play] and [Host.Follow]. Each loop makes the call, with a context that ends
// with ctx and with the loop. An error of the call is the last item.
//
// The call goes on while the loop's body runs, and never waits for it: what the body has not
// taken is kept. After the loop nothing of the call runs any more.
func Iterate(ctx context.Context, e *env.Env, call func(context.Context, Listener) error) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		calling, cancel := context.WithCancelCause(ctx)
		// The call runs in another goroutine, so that the loop's body may take its time. The
		// body stays in the caller's goroutine: it may panic, or end the goroutine.
		group, shared := e.Group(calling)
		feed := feed{env: e}
		group.Go(func(context.Context) (err error) {
			defer func() { feed.end(err) }()
			return env.Protect(func() error { return call(shared, ListenerFunc(feed.emit)) })
		})
		defer func() {
			cancel(errLeft)
			_ = group.Wait() // its error was yielded, or the loop is over
		}()
		// The last item may be an error. A body that ends the loop ends the call with it, in
		// the deferred function: also if the body panics.
		for {
			e, more, err := feed.next()
			if more || err != nil {
				more = yield(e, err) && more
			}
			if !more {
				return
			}
		}
	}
}

// errLeft is the cause of a play whose reader broke out of its loop.
var errLeft = core.Errorf(core.CodeUnavailable, "the reader of the events has left")

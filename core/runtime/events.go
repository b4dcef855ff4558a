package runtime

import (
	"context"
	"errors"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Events is [Runtime.Run] as it happens: it asks an agent on a thread of its own and
// yields the run's events, from run_start to run_finish. A run that failed has an event
// error before run_finish; one that waits has tool_call_suspended events, and a
// run_finish whose termination is suspended.
//
// An error is the last that it yields, and only for what is no end of the run's own: a
// refused request, or ctx's cause. The run goes on while the loop's body runs, and
// never waits for it.
//
// Whoever breaks out of the loop leaves the run as one does who cancels ctx: in a
// runtime of [New] it is cancelled, in any other it goes on in the queue. Nothing runs
// in this call any more when the loop is over.
func (r *Runtime) Events(ctx context.Context, agentID, text string) iter.Seq2[core.Event, error] {
	s, err := question(agentID, text)
	if err != nil {
		return func(yield func(core.Event, error) bool) { yield(core.Event{}, err) }
	}
	return r.EventsOf(ctx, s)
}

// EventsOf is Events for a submission, as [Runtime.RunInput] takes it. Each loop over
// it submits anew.
func (r *Runtime) EventsOf(ctx context.Context, s mailbox.Submission) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		playing, cancel := context.WithCancelCause(ctx)
		// The steps run beside the loop, so that its body may take its time; in the loop's
		// goroutine stays the body, which may panic or end the goroutine.
		group, shared := r.env.Group(playing)
		feed := feed{env: r.env}
		group.Go(func(context.Context) (err error) {
			defer func() { feed.end(err) }()
			return env.Protect(func() error {
				_, err := r.player.play(shared, s, ListenerFunc(feed.emit), nil)
				if _, failed := errors.AsType[*RunError](err); failed { // its events have said so
					return nil
				}
				return err
			})
		})
		defer func() {
			cancel(errLeft)
			_ = group.Wait() // its error was yielded, or nobody is there to take it
		}()
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

// errLeft is why a run is not followed any more whose reader broke out of its loop.
var errLeft = core.Errorf(core.CodeUnavailable, "the reader of the events has left")

package host

import (
	"context"
	"errors"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/feed"
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
	return feed.Iterate(ctx, r.env, func(ctx context.Context, emit func(core.Event) error) error {
		_, err := r.Play(ctx, s, ListenerFunc(emit), nil)
		if _, failed := errors.AsType[*RunError](err); failed { // its events have shown it
			return nil
		}
		return err
	})
}

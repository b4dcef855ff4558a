package run

import (
	"context"

	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// callEffects runs the effects of the calls that a write has moved to done: the
// intents of their results, and those of AfterToolExecute if it has run. Effects of
// calls that were done before ran with the write that moved those, in this process
// or another. The two heads decide, not a note of this step, so that a takeover
// runs them exactly once.
//
// AfterToolExecute runs again for a call that is found done, to rebuild the state,
// but its effects are omitted there: see afterTool.
func (r *round) callEffects(ctx context.Context, was, now thread.Head) {
	if r == nil {
		return
	}
	over := now.Run.Base != was.Run.Base // sequences are never reserved twice
	for i, status := range was.Run.Calls {
		if status == thread.CallDone || !over && now.Run.Calls[i] != thread.CallDone {
			continue
		}
		if effects := r.calls.effects(i); len(effects) > 0 {
			v, call := r.draft.view(), r.calledWith(i)
			v.at = r.calls[i].result.entry.Message.CreatedAt
			r.base.hooks.act(ctx, r.holder, v, engine.Moment{Call: &call, CallIndex: i}, effects)
		}
	}
}

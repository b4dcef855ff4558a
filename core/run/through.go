package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that a claim has let through to its tool may have acted, whatever became of that
// claim. Where it gets a result that no tool gave, that says so: the head knows which calls
// earlier claims may have let through (thread.Through), and the round which ones
// this claim has started.

// findThrough takes from the head which calls an earlier claim may have let through. The
// head lists every call that it could have started; a sequential round starts none before
// those ahead of it have their results. It is asked when the stored results are known.
func (r *round) findThrough() {
	r.found = true
	listed := r.head.Run.Through
	chained := r.agent != nil && r.agent.Spec.Mode() == agent.Sequential
	for i, c := range r.calls {
		if c.entry != nil {
			continue
		}
		if c.through, c.ran = listed.May&(1<<i) != 0, listed.Ran&(1<<i) != 0; chained {
			return
		}
	}
}

// letThrough are the calls without a result that this claim or an earlier one may have
// let through, for a write of the head; nil: the head says so already.
func (r *round) letThrough(head thread.Head) *uint32 {
	if r == nil || !r.found {
		return nil
	}
	calls := uint32(0)
	for i, c := range r.calls {
		if c.entry == nil && (c.begun || c.through) {
			calls |= 1 << i
		}
	}
	if calls == head.Run.Through.May {
		return nil
	}
	return &calls
}

// notExecuted is the result of a call that is not to run, or not again, since a gate or a
// policy says so now: it said the same to an earlier claim, unless that came to the call
// before, or the gate says so behind a decision: while that was awaited, calls beside its
// own may have been let through.
func (r *round) notExecuted(i int, reason string) tool.Result {
	c, status, blocked := r.calls[i], r.head.Run.Calls, r.blocked()
	late := blocked >= 0 && status[blocked] == thread.CallResuming
	if c.begun || c.ran || status[i] == thread.CallRunning || late && c.through {
		return synthetic(core.ResultUnknown, "outcome unknown: the tool may have run before it was stopped ("+reason+")")
	}
	return synthetic(core.ResultNotExecuted, reason)
}

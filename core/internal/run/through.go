package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that a claim has let through to its tool may have acted, even if that
// claim is lost. If it then gets a result that no tool gave, the result has this
// uncertainty. The head knows which calls earlier claims may have let through
// (thread.Through), and the round which ones this claim has started.

// findThrough takes from the head which calls an earlier claim may have let through
// (May), and for which of them no gate that runs again can deny it (Ran). The head
// lists every call that it could have started; a sequential round starts none
// before those ahead of it have their results. It is called when the stored results
// are known.
func (r *round) findThrough() {
	r.found, r.through = true, thread.Through{}
	listed := r.holder.head.Run.Through
	chained := r.base.agent != nil && r.base.agent.Spec.Mode() == agent.Sequential
	for i := range r.calls {
		if r.calls[i].stage == concluded {
			continue
		}
		r.through.May |= listed.May & (1 << i)
		if r.through.Ran |= listed.Ran & (1 << i); chained {
			return
		}
	}
}

// mayHaveRun reports whether an earlier claim may have let call i through.
func (r *round) mayHaveRun(i int) bool { return r.through.May&(1<<i) != 0 }

// letThrough are the calls without a result that this claim or an earlier one may
// have let through, for a write of the head. nil: the head has them already, and
// has those that this claim has started as started.
func (r *round) letThrough(head thread.Head) *uint32 {
	if r == nil || !r.found {
		return nil
	}
	calls, begun := uint32(0), uint32(0)
	for i := range r.calls {
		if c := &r.calls[i]; c.hasBegun() {
			begun |= 1 << i
		} else if c.stage != concluded && r.mayHaveRun(i) {
			calls |= 1 << i
		}
	}
	calls |= begun
	if calls == head.Run.Through.May && begun&^head.Run.Through.Ran == 0 {
		return nil
	}
	return &calls
}

// notExecuted is the result of a call, which this claim has not started, that is
// not to run, or not again, since a gate or a policy decides so now. It decided the
// same in an earlier claim, unless that had not reached the call, or the gate
// decides so after a decision: in that wait, other calls of the round may have been
// let through.
func (r *round) notExecuted(i int, reason string) tool.Result {
	status, blocked := r.holder.head.Run.Calls, r.calls.blocked()
	late := blocked >= 0 && status[blocked] == thread.CallResuming
	if r.through.Ran&(1<<i) != 0 || status[i] == thread.CallRunning || late && r.mayHaveRun(i) {
		return synthetic(core.ResultUnknown, "outcome unknown: the tool may have run before it was stopped ("+reason+")")
	}
	return synthetic(core.ResultNotExecuted, reason)
}

package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// base is what a step has read: the run's record, its agent, and what is
// committed of the thread. The conversation is shared with the cache and with
// other steps of this process: it is replaced by commits, never changed.
//
// A step loads once. A close loads again when the head has moved on since, and
// works with what there is when that fails: agent and conversation may be nil then.
type base struct {
	agent        *registry.Resolved
	model        *registry.BoundModel     // of the agent, or the run's member of its pool
	hooks        hooks                    // of the agent's plugins
	record       *thread.RunRecord        // replaced and never changed: the cache, writes and events share it; nil: nothing is known of it yet
	recorded     bool                     // record is stored
	input        *thread.Queued           // the run's own, of a run that has not started
	opening      checkpoint.Opening       // of the run, when it was read by itself
	starting     *checkpoint.Conversation // the thread as the run found it, in its first step
	conversation *checkpoint.Conversation
}

// takesUp reports whether the run has not started, and continues another: no input
// of its own opens it.
func (b *base) takesUp() bool { return b.input != nil && len(b.input.Messages) == 0 }

// agentID is that of the run's agent; empty: nothing is known of it.
func (b *base) agentID() string {
	if b.record == nil {
		return ""
	}
	return b.record.AgentID
}

// listens reports whether a plugin wants to know of the run's end.
func (b *base) listens() bool { return b.hooks.listens(core.PhaseRunEnd) }

// judged reports whether the run has policies other than max_rounds: its agent's,
// or the program's.
func (b *base) judged(program []agent.StopPolicy) bool { return len(b.agent.Stops)+len(program) > 0 }

package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Run asks an agent on a new thread, and returns the outcome of the run as [Runtime.Await]
// does. An empty agentID is the default agent. [Runtime.Play] continues a thread. A request
// that is refused has code not_found (no such agent) or invalid (no text), and no run.
func (r *Runtime) Run(ctx context.Context, agentID, text string) (Result, error) {
	s, err := question(agentID, text)
	if err != nil {
		return Result{}, err
	}
	return r.Play(ctx, s, nil, nil)
}

// Resume decides tickets of a run that waits, and continues the run; it returns as
// [Runtime.Run] does. [Approve], [Deny] and [Reply] make decisions. A decision on a ticket
// that was decided before has code decided, unless it is the same. Tickets that are open
// after it are the new Result's.
func (r *Runtime) Resume(ctx context.Context, waiting Result, decisions ...mailbox.Deciding) (Result, error) {
	if ctx.Err() != nil {
		return waiting, fmt.Errorf("resume run %s: %w", waiting.Run.ID, context.Cause(ctx))
	}
	if waiting.Run.ID.IsZero() {
		return waiting, core.Errorf(core.CodeInvalid, "resume: the result is of no run")
	}
	key := core.ThreadKey{Tenant: waiting.identity.Tenant, Thread: waiting.Thread}
	if err := key.Check(); err != nil {
		return waiting, err
	}
	// The decisions are for this run alone: another open run of the thread is not meant.
	decisions = slices.Clone(decisions)
	for i := range decisions {
		decisions[i].Run = waiting.Run.ID
	}
	d, err := r.worker.decideAll(ctx, waiting.identity, key, decisions)
	if err != nil {
		return waiting, err
	}
	one := r.player.follow(key, d.run, core.ID{}, waiting.identity, ListenerFunc(discard))
	if head, permit := r.worker.claimInline(ctx, key, d.head, d.run); permit != nil {
		r.worker.runInline(ctx, key, &one.follower.stream, head, permit)
	}
	return r.player.end(ctx, one)
}

// discard is the listener of calls that return a Result only.
func discard(core.Event) error { return nil }

// question is the submission of Run and Events.
func question(agentID, text string) (mailbox.Submission, error) {
	if strings.TrimSpace(text) == "" {
		return mailbox.Submission{}, core.Errorf(core.CodeInvalid, "the text for agent %q is empty", core.Excerpt(agentID))
	}
	return mailbox.Submission{Opening: mailbox.Opening{AgentID: agentID}, Messages: []core.Message{core.UserMessage(text)}}, nil
}

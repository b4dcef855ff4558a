package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// Run asks an agent on a thread of its own, and returns when the run has ended or
// waits. An empty agentID is the default agent. [Runtime.RunInput] goes on with a
// thread.
//
// The error is nil for an end that the run came to by itself: by its last word, by a
// stop policy or a gate, or because somebody cancelled or interrupted it. Termination
// says which. It is also nil for a run that waits: Tickets say for what. Otherwise it
// is one of these:
//
//   - A run that failed is a [*RunError], and the Result says how far it came.
//   - A refused request has code not_found (no such agent) or invalid (no text), and no
//     run.
//   - When ctx ends, it is ctx's cause. In a runtime of [New], where nobody else
//     would go on with the run, it is cancelled then, and the Result says how far it
//     came. In any other it goes on in the queue, already Config.Reserve before ctx's
//     deadline: the Result has its ids alone, for [Runtime.ReadRun].
func (r *Runtime) Run(ctx context.Context, agentID, text string) (Result, error) {
	s, err := r.question(agentID, text)
	if err != nil {
		return Result{}, err
	}
	return r.RunInput(ctx, s)
}

// RunInput is Run for a submission: on a thread that exists ([Result.Next] makes it), for
// a user, with a mode. An empty tenant is [LocalTenant], an empty thread a new one. Input
// for a run that is open, because the mode is steer or the run waits, returns that run's
// Result.
//
// A tool may run another agent so, on a thread of its own. On the thread of its own
// call it would wait for itself, until its context ends.
func (r *Runtime) RunInput(ctx context.Context, s mailbox.Submission) (Result, error) {
	return r.play(ctx, s, ListenerFunc(discard), nil)
}

// Resume decides about tickets of a run that waits, and goes on with it: what it
// returns is as for [Runtime.Run]. [Approve], [Deny] and [Reply] make decisions; one
// about a ticket that was decided before has code decided, unless it is the same.
// Tickets that are still open then are the new Result's.
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
	decisions = slices.Clone(decisions)
	for i := range decisions {
		decisions[i].Run = waiting.Run.ID
	}
	taken, err := r.decideAll(ctx, waiting.identity, key, decisions)
	if err != nil {
		return waiting, err
	}
	f := r.follower(key, taken.run, ListenerFunc(discard))
	if head, turn := r.claimInline(ctx, key, taken.head, taken.run); turn != nil {
		f.inline(ctx, head, turn)
	}
	return f.end(ctx, waiting.identity)
}

func discard(core.Event) error { return nil }

// question is the submission of Run and Events.
func (r *Runtime) question(agentID, text string) (mailbox.Submission, error) {
	if strings.TrimSpace(text) == "" {
		return mailbox.Submission{}, core.Errorf(core.CodeInvalid, "the text for agent %q is empty", core.Excerpt(agentID))
	}
	return mailbox.Submission{Opening: mailbox.Opening{AgentID: agentID}, Messages: []core.Message{core.UserMessage("", text)}}, nil
}

// play submits, steps inline where that is possible, and follows to the end.
//
// Unlike [Runtime.Stream] it has one context for everything: whoever calls a function
// and cancels its context wants it to stop. answers, if not nil, is asked about the answers
// that the run comes to in this process.
func (r *Runtime) play(ctx context.Context, s mailbox.Submission, listener Listener, answers check) (Result, error) {
	if s.Opening.AgentID == "" {
		s.Opening.AgentID = r.DefaultAgent()
	}
	if s.Opening.AgentID == "" {
		return Result{}, core.Errorf(core.CodeInvalid, "no agent is named, and the parts have no default one")
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("run agent %q: %w", s.Opening.AgentID, context.Cause(ctx))
	}
	if s.Thread.Tenant == "" {
		s.Thread.Tenant = LocalTenant
	}
	if s.Thread.Thread == "" {
		s.Thread.Thread = r.env.NewID().String()
	}
	if err := r.known(s); err != nil {
		return Result{}, err
	}
	receipt, head, turn, err := r.submitInline(ctx, s)
	if err != nil {
		return Result{}, fmt.Errorf("run agent %q: %w", s.Opening.AgentID, err)
	}
	f := r.follower(s.Thread, receipt.RunID, listener)
	f.dispatch = receipt.DispatchID
	defer r.checks.wait(receipt.RunID, answers)()
	if turn != nil {
		f.inline(ctx, head, turn)
	}
	return f.end(ctx, core.Identity{Tenant: s.Thread.Tenant, User: s.User})
}

// follower returns one that has shown nothing.
func (r *Runtime) follower(key core.ThreadKey, run core.ID, listener Listener) *follower {
	r.causes.wait(run)
	return &follower{Runtime: r, key: key, run: run, audience: r.newAudience(listener)}
}

// end follows the run to its end and reads what it came to.
func (f *follower) end(ctx context.Context, identity core.Identity) (Result, error) {
	defer f.causes.leave(f.run)
	result := Result{Thread: f.key.Thread, Run: core.Run{ID: f.run, ThreadID: f.key.Thread}, identity: identity}
	failed := f.follow(ctx)
	reading := ctx
	if failed == nil && !f.audience.finished { // the stream ended, and the run did not
		failed = f.interrupted(ctx)
		if f.solo == nil {
			return result, failed
		}
		free, cancel := f.env.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		failed = errors.Join(failed, f.abandon(free))
		reading = free
	}
	if err := f.read(reading, &result); err != nil {
		return result, errors.Join(failed, err)
	}
	if failed == nil && result.Termination.Type == core.TerminationError {
		failed = &RunError{Agent: result.Run.AgentID, Run: f.run, Termination: result.Termination, cause: f.causes.of(f.run)}
	}
	return result, failed
}

// interrupted says why a run was not followed to its end.
func (f *follower) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil { // the reserve of the time was reached, or Config.FollowFor
		cause = context.DeadlineExceeded
	}
	if f.solo == nil {
		return fmt.Errorf("run %s goes on in the queue: %w", f.run, cause)
	}
	return fmt.Errorf("run %s was cancelled: %w", f.run, cause)
}

// closeTime bounds how long a cancelled run takes to close: a hook of RunEnd may not
// come to an end.
const closeTime = 10 * time.Second

// abandon cancels a run that nobody would go on with, and closes it.
func (f *follower) abandon(ctx context.Context) error {
	if _, err := f.mailbox.Cancel(ctx, f.key, f.run); err != nil && !errors.Is(err, thread.ErrNotFound) { // it may have ended just now
		return err
	}
	for seen := uint64(0); ; {
		head, err := f.head(ctx, f.key)
		if err != nil || head.Run.ID != f.run || !head.Ready() || head.Version == seen { // closed; or nothing comes of trying
			return err
		}
		seen = head.Version
		if err := f.WorkLocal(ctx, hintOf(f.key, head)); err != nil {
			return err
		}
	}
}

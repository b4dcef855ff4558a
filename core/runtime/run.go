package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Run asks an agent on a new thread, and returns when the run has ended or waits. An empty
// agentID is the default agent. [Runtime.RunInput] continues a thread.
//
// The error is nil for a run that has ended without failing: with its model's answer, by a
// stop policy or a gate, or by a cancel or an interrupt; the Result's Termination tells
// which. It is also nil for a run that waits: Tickets has what for. Otherwise it is one of
// these:
//
//   - A run that failed is a [*RunError], and the Result has what the run has stored.
//   - A refused request has code not_found (no such agent) or invalid (no text), and no
//     run.
//   - When ctx ends, it is ctx's cause. In a runtime of [New], where no worker would
//     continue the run, the run is then cancelled, and the Result has what it has stored.
//     In any other the run continues in the queue, from Config.Reserve before ctx's
//     deadline: the Result has only its ids, for [Runtime.ReadRun].
func (r *Runtime) Run(ctx context.Context, agentID, text string) (Result, error) {
	s, err := question(agentID, text)
	if err != nil {
		return Result{}, err
	}
	return r.RunInput(ctx, s)
}

// RunInput is Run for a submission: on an existing thread ([Result.Next] makes one), for a
// user, with a mode. An empty tenant is [LocalTenant], an empty thread a new one. Input for
// an open run, because the mode is steer or the run waits, returns that run's Result.
//
// A tool may run another agent in this way, on another thread. On the thread of its own
// call it would wait for itself until its context ends.
func (r *Runtime) RunInput(ctx context.Context, s mailbox.Submission) (Result, error) {
	return r.player.play(ctx, s, ListenerFunc(discard), nil)
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

// player submits a run, or resumes one, for a call that returns its outcome.
type player struct {
	env     *env.Env
	agents  *agent.Registry
	submits *submitter
	mailbox *mailbox.Service
	stepper *run.Stepper // for the state that a run left
	reads   *reader
	worker  *worker
	streams *streams
	// causes and checks connect a call with the steps that this process takes of its run:
	// the error that ended it, and what its answers must satisfy.
	causes *causes
	checks *checks
	alone  bool // of New: no worker would continue a run that the call gives up
}

// play submits, steps inline where that is possible, and follows the run to its end.
//
// Unlike [Runtime.Stream] it has one context for everything: a caller that cancels a
// function's context wants the function to stop. answers checks the answers of the run that
// this process takes; nil: none are checked.
func (p *player) play(ctx context.Context, s mailbox.Submission, listener Listener, answers check) (Result, error) {
	if s.Opening.AgentID == "" {
		s.Opening.AgentID = p.agents.Default()
	}
	if s.Opening.AgentID == "" {
		return Result{}, core.Errorf(core.CodeInvalid, "no agent is named, and Parts.Default names none of %s", strings.Join(p.agents.IDs(), ", "))
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("run agent %q: %w", s.Opening.AgentID, context.Cause(ctx))
	}
	if s.Thread.Tenant == "" {
		s.Thread.Tenant = LocalTenant
	}
	if s.Thread.Thread == "" {
		s.Thread.Thread = p.env.NewID().String()
	}
	if err := p.submits.known(s); err != nil {
		return Result{}, err
	}
	// The same submission may have been accepted before: then the run is followed from its
	// start, without a permit.
	receipt, head, permit, err := p.worker.submitInline(ctx, s)
	if err != nil {
		return Result{}, fmt.Errorf("run agent %q: %w", s.Opening.AgentID, err)
	}
	one := p.follow(s.Thread, receipt.RunID, receipt.DispatchID, core.Identity{Tenant: s.Thread.Tenant, User: s.User}, listener)
	defer p.checks.join(receipt.RunID, answers)()
	if permit != nil {
		p.worker.runInline(ctx, s.Thread, &one.follower.stream, head, permit)
	}
	return p.end(ctx, one)
}

// played is a run that a player follows to its end.
type played struct {
	follower *follower
	key      core.ThreadKey
	run      core.ID
	dispatch core.ID // zero: the run has a record
	identity core.Identity
}

// follow returns a run whose errors are kept for its call, until end.
func (p *player) follow(key core.ThreadKey, runID, dispatch core.ID, id core.Identity, listener Listener) played {
	p.causes.join(runID)
	return played{p.streams.follower(key, runID, dispatch, listener), key, runID, dispatch, id}
}

// end follows the run to its end and reads its outcome.
func (p *player) end(ctx context.Context, one played) (Result, error) {
	defer p.causes.quit(one.run)
	result := Result{Thread: one.key.Thread, Run: core.Run{ID: one.run, ThreadID: one.key.Thread}, identity: one.identity}
	failed := p.streams.follow(ctx, one.follower)
	// The outcome is read under ctx unless ctx has ended: then only a run that was cancelled
	// here is worth another read.
	reading := ctx
	if failed == nil && !one.follower.stream.audience.finished { // the stream has ended, and the run has not
		failed = p.interrupted(ctx, one.run)
		if !p.alone {
			return result, failed
		}
		free, cancel := p.env.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		failed = errors.Join(failed, p.cancel(free, one))
		reading = free
	}
	if err := p.readResult(reading, one, &result); err != nil {
		return result, errors.Join(failed, err)
	}
	if failed == nil && result.Termination.Type == core.TerminationError {
		failed = &RunError{Agent: result.Run.AgentID, Run: one.run, Termination: result.Termination, cause: p.causes.of(one.run)}
	}
	return result, failed
}

// interrupted returns why a run was not followed to its end.
func (p *player) interrupted(ctx context.Context, runID core.ID) error {
	cause := context.Cause(ctx)
	if cause == nil { // the reserve of the time was reached, or Config.FollowFor
		cause = context.DeadlineExceeded
	}
	if !p.alone {
		return fmt.Errorf("run %s goes on in the queue: %w", runID, cause)
	}
	return fmt.Errorf("run %s was cancelled: %w", runID, cause)
}

// closeTime bounds how long a cancelled run takes to close: a hook of RunEnd may never
// return.
const closeTime = 10 * time.Second

// cancel cancels a run that no worker would continue, and closes it.
func (p *player) cancel(ctx context.Context, one played) error {
	if _, err := p.mailbox.Cancel(ctx, one.key, one.run); err != nil && !errors.Is(err, thread.ErrNotFound) { // it may have ended just now
		return err
	}
	// Each round of the loop takes the step that the head asks for; the closing one changes
	// the head, so that the loop ends.
	for seen := uint64(0); ; {
		head, err := p.mailbox.Head(ctx, one.key)
		if err != nil || head.Run.ID != one.run || !head.Ready() || head.Version == seen { // closed; or an attempt has changed nothing
			return err
		}
		seen = head.Version
		if err := p.worker.work(ctx, hintOf(one.key, head), nil); err != nil {
			return err
		}
	}
}

// readResult fills in what the run has stored. What came on the thread after the run is
// not part of it.
func (p *player) readResult(ctx context.Context, one played, result *Result) error {
	head, err := p.mailbox.Head(ctx, one.key)
	if err != nil {
		return err
	}
	record, ok, err := p.mailbox.Run(ctx, one.key, head, one.run, one.dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", one.run)
	}
	if err != nil {
		return err
	}
	// A waiting run that is not the head's open run has been closed since: its tickets are
	// gone.
	waits := record.Status == core.RunWaiting && head.Run.ID == one.run
	if waits {
		if record.Tickets, err = p.mailbox.Tickets(ctx, one.key, head); err != nil {
			return err
		}
		result.Termination.Type = core.TerminationSuspended
	}
	if record.Termination != nil {
		result.Termination = *record.Termination
	}
	result.Run, result.Tickets, result.Usage, result.Text = record, record.Tickets, record.Usage, record.Response
	if record.FirstSeq == 0 { // it ended before its first step
		return nil
	}
	// The run's records are contiguous. Its state is that after the last of them.
	last := record.FirstSeq
	for entry, err := range store.Entries(ctx, p.reads.store, p.reads.records, one.key, record.FirstSeq, head.Seq) {
		if err != nil {
			return err
		}
		if entry.Run != one.run {
			break
		}
		if last = entry.Seq; entry.Message != nil {
			result.Messages = append(result.Messages, *entry.Message)
			if entry.Message.Role == core.RoleAssistant && waits {
				result.Text = entry.Message.Text()
			}
		}
	}
	result.State, err = p.stepper.Reader().State(ctx, one.key, head, last)
	return err
}

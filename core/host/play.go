package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Play submits and returns when the run has ended or waits for a person: the outcome of
// [Host.Await], with its errors. An empty tenant is [LocalTenant], an empty thread a new one,
// an empty agent the default one. listener receives the run's events; nil: no listener. answers
// checks each answer that this process receives from the run; its error is sent back to the
// model. nil: no answer is checked.
//
// In this way, a tool may play another agent's run on another thread. On the thread of that
// call it would wait for itself until its context ends.
func (r *Host) Play(ctx context.Context, s mailbox.Submission, listener Listener, answers func(answer string) error) (Result, error) {
	return r.player.play(ctx, s, listener, answers)
}

// Await returns the outcome of a run when it has ended or waits for a person. Any caller may
// have submitted the run. In a process with its own queue ([Queue]), Await takes the run's
// steps itself, and those of the runs that it waits for, unless another call, worker or process
// does. It waits for times, too. A wait for child runs alone ends when each of them waits for a
// person. The Result then has the tickets of the children, and [Host.Approvals] lists the open questions.
//
// The error is nil for a run that has ended without failing: with its model's answer, by a
// stop policy or a gate, or by a cancel or an interrupt; the Result's Termination tells
// which. It is also nil for a run that waits for its Tickets. Otherwise it is one of
// these:
//
//   - A run that failed is a [*RunError], and the Result has the messages and usage that the
//     run has stored.
//   - A run that does not exist, or that the caller may not read, has code not_found.
//   - When ctx ends, it is ctx's cause. In memory, where no other process would continue the
//     run, the run is then cancelled, and the Result has everything that it stored. With a
//     store or a queue the run continues; in a host with another queue it continues from
//     Options.Reserve before ctx's deadline. The Result then has only its ids, for another
//     Await.
func (r *Host) Await(ctx context.Context, id core.Identity, run core.ID) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("wait for run %s: %w", run, context.Cause(ctx))
	}
	key, dispatch, _, err := r.reads.locate(ctx, id, run)
	if err != nil {
		return Result{}, err
	}
	id.Tenant = key.Tenant
	return r.player.end(ctx, r.player.follow(key, run, dispatch, id, nil))
}

// discard is the listener of calls that return a Result only.
func discard(core.Event) error { return nil }

// player submits a run, or waits for one, for a call that returns its outcome.
type player struct {
	env     *env.Env
	agents  *registry.Registry
	submits *submitter
	mailbox *mailbox.Service
	stepper *run.Stepper // for the state that a run left
	reads   *reader
	worker  *worker
	streams *streams
	// causes and checks connect a call with the steps that this process takes of its run:
	// the error that ended it, and the check that its answers must satisfy.
	causes *causes
	checks *checks
	alone  bool // in memory: no process would continue a run that the call gives up
}

// play submits, steps inline where that is possible, and follows the run to its end.
//
// Unlike [Host.Stream] it has one context for everything: a caller that cancels a
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
		p.worker.runInline(ctx, s.Thread, one.follower.stream, head, permit)
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

// follow returns a run whose errors are kept for its call, until end. listener may be nil.
func (p *player) follow(key core.ThreadKey, runID, dispatch core.ID, id core.Identity, listener Listener) played {
	p.causes.join(runID)
	quiet := listener == nil
	if quiet {
		listener = ListenerFunc(discard)
	}
	f := p.streams.follower(key, dispatch, newStream(p.streams.env, runID, listener))
	f.played, f.quiet = true, quiet
	return played{f, key, runID, dispatch, id}
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
		failed = &RunError{Agent: result.Run.AgentID, Run: one.run, Termination: result.Termination, Cause: p.causes.of(one.run)}
	}
	return result, failed
}

// interrupted returns why a run was not followed to its end.
func (p *player) interrupted(ctx context.Context, runID core.ID) error {
	cause := context.Cause(ctx)
	if cause == nil { // the reserve of the time was reached, or Options.FollowFor
		cause = context.DeadlineExceeded
	}
	if !p.alone {
		return fmt.Errorf("run %s continues in the queue: %w", runID, cause)
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

// readResult fills in the stored messages of the run. Messages that came to the thread after
// the run are not part of it.
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
	for entry, err := range threadlog.Entries(ctx, p.reads.store, p.reads.records, one.key, record.FirstSeq, head.Seq) {
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

package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// LocalTenant is the tenant of threads of callers that name none. In a runtime of [New]
// it is that of an empty core.Identity, too.
const LocalTenant = "local"

// Result is what a run came to, or how it stands while it waits.
type Result struct {
	Text        string           // of the run's last turn
	Termination core.Termination // how it ended; of a run that waits, the type is suspended
	Tickets     []core.Ticket    // what it waits for; empty when it has ended: see [Runtime.Resume]
	Messages    []core.Message   // what the run has stored: its input, turns and results of tools, oldest first
	Usage       core.Usage       // of all its steps
	State       state.Snapshot   // of the thread and the run as the run left it; a key's Read reads it
	Thread      string           // id of the thread; Next goes on with it
	Run         core.Run         // its record: id, steps, times

	identity core.Identity // on whose behalf the run is
}

// Next returns the input that goes on with the result's thread, for
// [Runtime.RunInput] and [Runtime.EventsOf]: a text for the same agent, on behalf of
// the same user. Its other fields can be set before it is submitted.
func (r Result) Next(text string) mailbox.Submission {
	return mailbox.Submission{
		Thread: core.ThreadKey{Tenant: r.identity.Tenant, Thread: r.Thread}, User: r.identity.User,
		AgentID: r.Run.AgentID, Messages: []core.Message{core.UserMessage("", text)},
	}
}

// RunError is the end of a run that failed: its model or provider, its time, a tool's
// [tool.Fatal] error, a plugin or stop policy, or an agent that can no longer be
// resolved. It says what clients may read, and of a plugin's or provider's error only
// where it was; the error itself, and a panic's stack, is in the log.
type RunError struct {
	Agent       string
	Run         core.ID
	Termination core.Termination // of the type error

	cause error // nil: it is not known here
}

// Unwrap returns the error that ended the run, where this process ended it while the call
// waited: a hook's, a tool's or a provider's own. Else nil. It may quote anything: it is
// for the program, and for no client to read.
func (e *RunError) Unwrap() error { return e.cause }

// As makes the code of the termination that of the error: see [core.CodeOf].
func (e *RunError) As(target any) bool {
	if coded, ok := target.(**core.Error); ok {
		*coded = &core.Error{Code: core.Code(e.Termination.Code), Message: e.Error()}
		return true
	}
	return false
}

// Error implements error. It says the agent, the termination's code and its detail.
func (e *RunError) Error() string {
	text := fmt.Sprintf("agent %q failed", e.Agent)
	for _, part := range []string{e.Termination.Code, e.Termination.Detail} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

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

// Approve returns the decision that lets the ticket's call run.
func Approve(t core.Ticket) mailbox.Deciding { return Reply(t, nil) }

// Reply returns the decision that resumes the ticket's call with a payload: what a
// client's tool came to, or what the ticket asks for.
func Reply(t core.Ticket, payload json.RawMessage) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume, Payload: payload}}
}

// Deny returns the decision that refuses the ticket's call; the model reads the reason.
func Deny(t core.Ticket, reason string) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionCancel, Reason: reason}}
}

func discard(core.Event) error { return nil }

// question is the submission of Run and Events.
func (r *Runtime) question(agentID, text string) (mailbox.Submission, error) {
	if strings.TrimSpace(text) == "" {
		return mailbox.Submission{}, core.Errorf(core.CodeInvalid, "the text for agent %q is empty", core.Excerpt(agentID))
	}
	return mailbox.Submission{AgentID: agentID, Messages: []core.Message{core.UserMessage("", text)}}, nil
}

// play submits, steps inline where that is possible, and follows to the end.
//
// Unlike [Runtime.Stream] it has one context for everything: whoever calls a function
// and cancels its context wants it to stop. answers, if not nil, is asked about the answers
// that the run comes to in this process.
func (r *Runtime) play(ctx context.Context, s mailbox.Submission, listener Listener, answers check) (Result, error) {
	if s.AgentID == "" {
		s.AgentID = r.DefaultAgent()
	}
	if s.AgentID == "" {
		return Result{}, core.Errorf(core.CodeInvalid, "no agent is named, and the parts have no default one")
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("run agent %q: %w", s.AgentID, context.Cause(ctx))
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
		return Result{}, fmt.Errorf("run agent %q: %w", s.AgentID, err)
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

// read fills in what the run has stored. Whatever came on the thread after the run is
// not part of it.
func (f *follower) read(ctx context.Context, result *Result) error {
	head, err := f.head(ctx, f.key)
	if err != nil {
		return err
	}
	record, ok, err := f.mailbox.Run(ctx, f.key, head, f.run, f.dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", f.run)
	}
	if err != nil {
		return err
	}
	waits := record.Status == core.RunWaiting && head.Run.ID == f.run
	if waits {
		if record.Tickets, err = f.mailbox.Tickets(ctx, f.key, head); err != nil {
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
	last := record.FirstSeq
	for entry, err := range store.Entries(ctx, f.store, f.records, f.key, record.FirstSeq, head.Seq) {
		if err != nil {
			return err
		}
		if entry.Run != f.run {
			break
		}
		if last = entry.Seq; entry.Message != nil {
			result.Messages = append(result.Messages, *entry.Message)
			if entry.Message.Role == core.RoleAssistant && waits {
				result.Text = entry.Message.Text()
			}
		}
	}
	result.State, err = f.stepper.State(ctx, f.key, head, last)
	return err
}

package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Committer changes heads; the mailbox implements it. An error of thread's says
// that the command was refused; ErrFenced means that the claim is lost.
type Committer interface {
	Commit(ctx context.Context, key core.ThreadKey, known thread.Head, action thread.Action) (thread.Head, thread.Effects, error)
	Head(ctx context.Context, key core.ThreadKey) (thread.Head, error)
}

// Agents resolves an agent id; *agent.Registry implements it.
type Agents interface {
	Resolve(id string) (*agent.Resolved, error)
}

// StopCheck looks at a committed turn with tool calls before they run: step
// counts from 1, usage is the run's total. It answers nil to go on.
type StopCheck func(a *agent.Resolved, step int, turn core.Message, usage core.Usage) *core.Termination

// Options configures a Stepper. Env, Threads, Committer and Agents are required.
type Options struct {
	Env       *env.Env
	Threads   store.Threads
	Committer Committer
	Agents    Agents
	Stop      []StopCheck   // the first that answers ends the run
	Logger    *slog.Logger  // nil: slog.Default
	Lease     time.Duration // renewed past two thirds; 0: 30 s
	Poll      time.Duration // how often a long step looks for a cancel, at least six times a lease; 0: 2 s
	CacheSize int           // threads whose conversation is kept in memory; 0: 64
}

// Stepper takes claimed runs a step further. It is safe for concurrent use.
type Stepper struct {
	env       *env.Env
	threads   store.Threads
	committer Committer
	agents    Agents
	stop      []StopCheck
	log       *slog.Logger
	lease     time.Duration
	poll      time.Duration
	cache     *cache
}

// New returns a Stepper.
func New(o Options) (*Stepper, error) {
	if o.Env == nil || o.Threads == nil || o.Committer == nil || o.Agents == nil {
		return nil, core.Errorf(core.CodeInvalid, "run: Env, Threads, Committer and Agents are required")
	}
	s := &Stepper{
		env: o.Env, threads: o.Threads, committer: o.Committer, agents: o.Agents, stop: o.Stop,
		log: o.Logger, lease: o.Lease, poll: o.Poll,
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.lease == 0 {
		s.lease = 30 * time.Second
	}
	if s.poll == 0 {
		s.poll = 2 * time.Second
	}
	s.poll = min(s.poll, s.lease/6) // with a third of the lease left there are two looks to renew it
	if o.CacheSize == 0 {
		o.CacheSize = 64
	}
	s.cache = newCache(o.CacheSize)
	return s, nil
}

// Claim is the right to take one step.
type Claim struct {
	Key  core.ThreadKey
	Head thread.Head // after the write that took the claim, or the last Result's
	// Keep asks to hold the claim over the commit, for a caller that steps in a
	// loop; the outcome is then Continue instead of Yield.
	Keep bool
	// Whole says that the step has a whole invocation to itself: when even that
	// is too short, the run ends with an error instead of being tried again.
	Whole bool
}

// Result is how a step ended.
type Result struct {
	Outcome thread.Outcome
	Head    thread.Head // after the commit; the next Claim of a Continue
	Retry   bool        // nothing was committed: the step will be tried again
}

// Step takes one step of the claimed run and commits it, emitting events as
// they happen; a nil sink discards them. An error means that nothing was handed
// on: store.ErrFenced that a later claim has the run, anything else that the
// delivery should be tried again.
func (s *Stepper) Step(ctx context.Context, claim Claim, sink Sink) (Result, error) {
	w := &work{
		Stepper: s, claim: claim, key: claim.Key, head: claim.Head, fence: claim.Head.Claim.Fence,
		events: emitter{sink: sink, run: claim.Head.Run.ID, fence: claim.Head.Claim.Fence},
	}
	result, err := w.run(ctx)
	if err != nil {
		return result, fmt.Errorf("run %s of thread %s: %w", w.head.Run.ID, w.key, err)
	}
	return result, nil
}

// work is one Step call.
type work struct {
	*Stepper
	claim  Claim
	key    core.ThreadKey
	head   thread.Head
	fence  uint64
	events emitter

	agent        *agent.Resolved
	record       core.Run
	conversation *conversation
	started      bool           // this step is the run's first: its record is not stored yet
	fresh        bool           // this claim committed the turn: no result can be stored yet
	announced    bool           // run_start was emitted
	drained      bool           // consumed and unsaved hold what the inbox said
	unsaved      []thread.Entry // entries after head.Seq that are not put yet
	consumed     []thread.InboxRef
	pending      pendingCommand
	after        *effects // of the commit, to be run when the claim is handed on
}

// ended is an error that ends the run instead of the delivery.
type ended struct {
	termination core.Termination
	cause       error
}

func (e *ended) Error() string { return e.termination.Detail }
func (e *ended) Unwrap() error { return e.cause }

func endWith(code string, cause error) error {
	return &ended{core.Termination{Type: core.TerminationError, Code: code, Detail: cause.Error()}, cause}
}

// run guards the step with a watch on the head and turns what went wrong into
// the right end.
func (w *work) run(ctx context.Context) (Result, error) {
	if w.head.Run.Status == thread.Closing {
		return w.close(ctx)
	}
	group, watched := w.env.Group(ctx)
	group.Go(w.watch)
	var result Result
	err := env.Protect(func() (err error) {
		result, err = w.step(watched)
		return err
	})
	if err != nil && watched.Err() != nil {
		if cause := context.Cause(watched); core.CodeOf(cause) != core.CodeInternal {
			err = cause // what the watch saw
		}
	}
	group.Cancel()
	_ = group.Wait()
	if err != nil {
		return w.recover(ctx, err)
	}
	w.runEffects(ctx)
	return result, nil
}

// recover decides what a failed step comes to.
func (w *work) recover(ctx context.Context, err error) (Result, error) {
	w.cache.drop(w.key)
	over := ctx.Err() != nil
	var end *ended
	if !errors.As(err, &end) && errors.Is(err, store.ErrCorrupt) && w.head.Claim.Attempts >= thread.MaxAttempts {
		err = endWith("corrupt", err) // no newer version of the program could read it either
	}
	switch {
	case errors.As(err, &end):
		if !over {
			w.log.WarnContext(ctx, "run ends with an error", "tenant", w.key.Tenant, "thread", w.key.Thread, "run", w.head.Run.ID, "error", err)
			return w.abort(ctx, end.termination)
		}
	case errors.Is(err, thread.ErrFenced):
		return Result{}, err
	case errors.Is(err, thread.ErrDeleted):
		return Result{}, errors.Join(thread.ErrFenced, err)
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return w.close(ctx)
	}
	if over && errors.Is(ctx.Err(), context.DeadlineExceeded) && w.claim.Whole {
		return w.abort(ctx, core.Termination{Type: core.TerminationError, Code: "timeout", Detail: "the step did not finish within a whole invocation"})
	}
	w.log.WarnContext(ctx, "step failed, it will be tried again", "tenant", w.key.Tenant, "thread", w.key.Thread, "run", w.head.Run.ID, "error", err)
	return w.nack(ctx, err)
}

// afterDeadline is how long the handing back of work may take when the step's
// own time is over.
const afterDeadline = 4 * time.Second

// detached returns a context for storing what is done and handing back the rest
// when ctx is over, or ends meanwhile.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline.Add(afterDeadline))
	}
	if ctx.Err() != nil {
		return context.WithTimeout(free, afterDeadline)
	}
	return context.WithCancel(ctx)
}

// Retries of a failed delivery: full jitter over base * 2^attempts.
const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 30 * time.Second
)

// nack gives the work back: at once when only the time was over, after a
// backoff when something failed.
func (w *work) nack(ctx context.Context, cause error) (Result, error) {
	var at int64
	if ctx.Err() == nil {
		delay := w.env.Jitter(min(backoffCap, backoffBase<<min(w.head.Claim.Attempts, 7)))
		var failure *model.Error
		if errors.As(cause, &failure) {
			delay = max(delay, failure.RetryAfter)
		}
		at = w.env.Millis() + delay.Milliseconds()
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	head, _, err := w.committer.Commit(ctx, w.key, w.head, thread.Nack{Fence: w.fence, AvailableAt: at})
	if err != nil {
		return Result{}, errors.Join(cause, err)
	}
	return Result{Outcome: thread.Yield, Head: head, Retry: true}, nil
}

// watch looks at the head while the step runs: it renews the lease, and its
// error stops the step when the run was ended or the claim lost.
func (w *work) watch(ctx context.Context) error {
	for w.env.Sleep(ctx, w.poll) == nil {
		head, err := w.committer.Head(ctx, w.key)
		switch {
		case err != nil:
			continue // liveness only: the commit will tell
		case head.Claim.Fence != w.fence:
			return thread.ErrFenced
		case head.Claim.Epoch != head.Epoch:
			return thread.ErrSuperseded
		case head.Run.Status == thread.Closing:
			return thread.ErrClosing
		}
		if left := head.Claim.Lease - w.env.Millis(); left < w.lease.Milliseconds()/3 {
			_, _, err := w.committer.Commit(ctx, w.key, head, thread.ExtendLease{Fence: w.fence, Lease: w.lease.Milliseconds()})
			if errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrClosing) || errors.Is(err, thread.ErrSuperseded) {
				return err
			}
		}
	}
	return nil
}

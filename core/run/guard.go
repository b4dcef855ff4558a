package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
)

// maxRemedies bounds how often a step changes its way: from stepping to failing
// to closing is the longest.
const maxRemedies = 4

// run guards the step with a watch on the head and turns what goes wrong into
// the right end. A remedy is work like any other and is watched, too: a run that
// fails may be cancelled while it does, and a close may lose its claim. It gets
// a context of its own when the step's is over.
func (p *step) run(ctx context.Context) (Stepped, error) {
	if deadline, ok := ctx.Deadline(); ok {
		p.last = deadline.Add(afterDeadline)
	}
	work := p.advance
	if p.head.Run.Status == thread.Closing {
		work = p.close
	}
	stepped, err := p.watched(ctx, work)
	for remedies := 0; err != nil; remedies++ {
		remedy := p.remedy(ctx, err)
		if remedy == nil || remedies == maxRemedies {
			return p.giveBack(ctx, err)
		}
		free, cancel := p.detached(ctx)
		stepped, err = p.watched(free, remedy)
		cancel()
	}
	return stepped, nil
}

// watched does the work beside the watch. When the watch stops the work, its
// error is the reason and the work's own, some cancelled call, says nothing. The
// watch is waited for before the next piece of work begins, so that there is
// never a second one, and none outlives the step.
func (p *step) watched(ctx context.Context, work func(context.Context) (Stepped, error)) (stepped Stepped, err error) {
	p.ending.Store(p.head.Run.Status == thread.Closing)
	group, shared := p.env.Group(ctx)
	group.Go(p.watch)
	err = env.Protect(func() (err error) {
		stepped, err = work(shared)
		return err
	})
	if err != nil && shared.Err() != nil {
		if cause := context.Cause(shared); core.CodeOf(cause) != core.CodeInternal {
			err = cause // what the watch saw
		}
	}
	group.Cancel()
	_ = group.Wait()
	return stepped, err
}

// watch looks at the head while the step runs: it renews the lease, and its
// error stops the step when the run was ended or the claim lost. It reads the
// head for itself: the step's own copy is the step's alone.
//
// It serves liveness only. A look that fails is left out, and a lost claim that
// it sees too late is fenced at the next write anyway. A step that itself ends
// the run (ending) must not be stopped by the closing head that it has made.
func (p *step) watch(ctx context.Context) error {
	for p.env.Sleep(ctx, p.poll) == nil {
		head, err := p.committer.Head(ctx, p.Key)
		if err != nil {
			continue // liveness only: the commit will tell
		}
		ending := p.ending.Load()
		switch {
		case !p.holds(head.Claim.Fence):
			return thread.ErrFenced
		case !ending && head.Claim.Epoch != head.Epoch:
			return thread.ErrSuperseded
		case !ending && head.Run.Status == thread.Closing:
			return thread.ErrClosing
		}
		p.news.offer(head)
		if left := head.Claim.Lease - p.env.Millis(); left >= p.lease.Milliseconds()/3 {
			continue
		}
		extend := thread.ExtendLease{Fence: head.Claim.Fence, Lease: p.lease.Milliseconds(), Closing: ending}
		_, _, err = p.committer.Commit(ctx, p.Key, head, extend, nil)
		if stops(err) {
			return err
		}
	}
	return nil
}

// holds reports whether a claim that the watch has read is the step's own. The
// step may be about to take the next fence.
func (p *step) holds(fence uint64) bool {
	held := p.held.Load()
	return fence == held || fence == held+1 && p.refencing.Load()
}

// stops reports whether an error says that the claim is lost or the run ended.
func stops(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrClosing) ||
		errors.Is(err, thread.ErrSuperseded) || errors.Is(err, thread.ErrDeleted)
}

// remedy is what to do about an error but giving the claim back; nil: nothing.
// The order matters: a lost claim beats everything, an end from outside beats a
// failure of the step (a person's cancel makes a model call fail), and a failure
// that says how the run ends beats the clock.
func (p *step) remedy(ctx context.Context, err error) func(context.Context) (Stepped, error) {
	fail := func(t core.Termination) func(context.Context) (Stepped, error) {
		if p.head.Run.Status == thread.Closing {
			return nil // close has failed; another claim tries again
		}
		return func(ctx context.Context) (Stepped, error) { return p.fail(ctx, t, err) }
	}
	var end *ended
	switch {
	case errors.Is(err, thread.ErrFenced), errors.Is(err, thread.ErrDeleted), errors.Is(err, thread.ErrApplied):
		return nil
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return p.close
	case errors.As(err, &end):
		return fail(end.termination)
	case core.CodeOf(err) == core.CodeCorrupt: // no later claim could read it either
		return fail(core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "what is stored of the thread cannot be read"})
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && p.Whole && p.agent != nil && !p.progressed():
		return fail(core.Termination{Type: core.TerminationError, Code: "timeout", Detail: "the step did not finish within a whole invocation"})
	}
	return nil
}

// progressed reports whether the step brought a commit or a newly done call:
// one whose result is still to be stored counts.
func (p *step) progressed() bool {
	return p.moved || p.round != nil && p.round.answered(p.head.Run.Calls)
}

// afterDeadline is how long the handing back of work may take when the step's
// own time is over.
const afterDeadline = 4 * time.Second

// detached returns a context for storing what is done and handing back the rest
// when ctx is over, or ends meanwhile. The step's deadline lies five seconds
// before the invocation's, of which this takes four. A host that stops waits as
// long; while it does not, the work goes on under ctx, so that the stop is seen.
func (p *step) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	late := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if !p.last.IsZero() && (late || ctx.Err() == nil) {
		return p.undisturbed(ctx)
	}
	if ctx.Err() != nil { // the host stops
		return p.env.WithTimeout(context.WithoutCancel(ctx), afterDeadline)
	}
	return context.WithCancel(ctx)
}

// Pauses before a failed step is tried again: full jitter over base * 2^attempts.
const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 30 * time.Second
	storePause  = 400 * time.Millisecond // after a store that does not answer; up to twice that
	schemaPause = 30 * time.Second       // before a newer program is looked for
)

// giveBack gives up the claim after an error: at once when the time was over,
// after a pause when something failed. What was stored stays, and its calls are
// done. A claim that is lost, or whose commit was applied by a lost write, has
// nothing to give back.
func (p *step) giveBack(ctx context.Context, cause error) (Stepped, error) {
	switch {
	case errors.Is(cause, thread.ErrDeleted):
		return Stepped{}, errors.Join(thread.ErrFenced, cause)
	case errors.Is(cause, thread.ErrFenced), errors.Is(cause, thread.ErrApplied):
		return Stepped{}, cause
	}
	over := ctx.Err() != nil
	late := over && errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	ctx, cancel := p.detached(ctx)
	defer cancel()
	if err := p.storeResults(ctx); stops(err) {
		return Stepped{}, errors.Join(err, cause)
	}
	kind, at := p.nackKind(cause, over, late)
	p.log.WarnContext(ctx, "step was given back and will be tried again", slices.Concat(p.attrs(), []any{"kind", kind.String(), "pause", time.Duration(max(0, at-p.env.Millis())) * time.Millisecond}, failure(cause))...)
	var calls []thread.CallStatus
	progress := false
	if p.round != nil {
		calls, progress = p.round.statuses(p.head.Run.Calls, p.hooked())
	}
	_, err := p.commit(ctx, func() thread.Change {
		return thread.Nack{Fence: p.fence, Kind: kind, AvailableAt: at, Closing: p.head.Run.Status == thread.Closing, Calls: calls, Progress: progress, Schema: p.adopted(), ModelFailed: p.modelFailed}
	}, nil)
	if err != nil {
		return Stepped{}, errors.Join(err, cause)
	}
	return Stepped{Outcome: thread.Yield, Head: p.head, Retry: true}, nil
}

// nackKind says whether a failure counts as an attempt, and when to try again.
// Attempts judge the run, never the host: what says nothing about the run (a
// stop, an edited input, a record that only a newer program reads) is not
// counted, however often it happens.
func (p *step) nackKind(cause error, over, late bool) (kind thread.NackKind, at int64) {
	var again *modelRetry
	switch {
	case errors.As(cause, &again):
		return thread.NackModel, p.env.Millis() + again.wait.Milliseconds()
	case errors.Is(cause, thread.ErrStale):
		return thread.NackGiven, 0
	case core.CodeOf(cause) == core.CodeSchema: // a newer program's: this one would only take it again
		return thread.NackGiven, p.env.Millis() + schemaPause.Milliseconds()
	case late:
		return thread.NackFailed, 0
	case over:
		return thread.NackGiven, 0 // the host stops
	}
	switch core.CodeOf(cause) {
	case core.CodeThrottled, core.CodeUnavailable: // attempts judge the run, not its store
		return thread.NackGiven, p.env.Millis() + (storePause + p.env.Jitter(storePause)).Milliseconds()
	}
	delay := p.env.Jitter(min(backoffCap, backoffBase<<min(p.head.Run.Attempts, 7)))
	return thread.NackFailed, p.env.Millis() + delay.Milliseconds()
}

package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// Pauses before a failed model call is made again: full jitter over
// base * 2^(failed calls - 1), or what the provider asks for, if that is longer. The
// bases are the agent's, see agent.Retry.
const (
	modelCap      = 30 * time.Second
	maxRetryAfter = 5 * time.Minute // the longest pause that a provider may ask for
)

// The same step repeats a failed call while a client waits for its words and the
// pause is short, unless the step's time would hardly suffice. All other pauses are
// waited for in the mailbox, at no cost: the claim is free, and a process that
// stops in that time loses nothing.
const (
	maxPause = 2 * time.Second
	callTime = 10 * time.Second // of the step, after the pause
)

// modelCalls is how often the step may call its model over all its deliveries
// together, while a stream follows the run or the agent has no patience.
func (t *Turn) modelCalls() uint8 { return uint8(t.step.Agent.Spec.ModelCalls()) } // at most 21, see agent.Spec.Check

// oneMore counts up, but never around: a patient run may make more calls than fit.
func oneMore(n uint8) uint8 { return max(n, n+1) }

// callsSoFar is how many of the allowed model calls of the step have failed in
// earlier deliveries. A claim that was lost may have cost one, but never the
// last: else a run could fail without a failed call.
func callsSoFar(failed, lost, allowed uint8) uint8 {
	return max(failed, uint8(min(int(failed)+int(lost), int(allowed)-1)))
}

// callFailed decides the next action after a failed model call. Without an error
// the turn is whole, or the pause is over and the next call continues where this
// one has left the turn.
func (t *Turn) callFailed(ctx context.Context, err error) error {
	if errors.Is(err, thread.ErrClosing) { // the run was ended under the model, as a replay's is
		return err
	}
	t.broken = true
	t.failed = oneMore(t.failed) // counted before anything else: the nack has it on every further way of the step
	kind, asked := Classify(err)
	t.step.Claim.Failed(t.member.Provider, t.asked.Model, string(kind))
	if Passing(err) && t.speech.whole() {
		t.step.Claim.Warn(ctx, "model call failed after a complete turn", "kind", kind, "failed", t.failed, "error", err)
		return t.cutPieces(ctx)
	}
	t.fails(string(kind))
	leaves := !t.speech.whole() && t.switches(err, kind, asked)
	if leaves && t.mayCall(ctx) {
		if next := t.nextMember(); next != nil {
			return t.goElsewhere(ctx, next, kind, err)
		}
		if !waits(err, asked) {
			if back := t.memberToWaitFor(); back != nil {
				return t.goBack(ctx, back, kind, err)
			}
		}
	}
	err = t.gone(err, kind)
	switch {
	case kind == model.KindOverflow && !t.speech.whole():
		return t.overflowed(ctx, err)
	case !Passing(err):
		return &EndError{Code: "model", Cause: err}
	case asked > maxRetryAfter:
		return &EndError{"rate_limited", fmt.Sprintf("the provider asks for a pause of %s, at most %s are waited", asked, maxRetryAfter), err}
	}
	wait, ok := t.wait(ctx, t.member, t.asked.Model, kind, asked)
	if !ok {
		return &EndError{Code: "model", Cause: err}
	}
	said := []any{"kind", kind, "wait", wait, "failed", t.failed, "error", err}
	if left := t.patience.left(t.env().Millis()); left > 0 && !t.step.Events.Listened() {
		said = append(said, "patience", left)
	}
	t.step.Claim.Warn(ctx, "model call failed, will be retried", said...)
	t.step.Events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Wait: wait.Milliseconds(), Reason: string(kind)})
	t.pauses(wait)
	// Announced in both cases: a reader who stays sees why nothing comes.
	if !t.stays(wait) {
		return &RetryError{wait, err}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	if leaves { // no member remained: after the pause each may be tried again
		t.pool.paused = len(t.pool.left)
	}
	return t.env().Sleep(ctx, wait)
}

// goElsewhere continues with another member of the pool, immediately, with or
// without a listener: there is nothing to wait for. Only if the step's time would
// hardly suffice, another delivery tries the members again.
func (t *Turn) goElsewhere(ctx context.Context, next *registry.BoundModel, kind model.ErrorKind, err error) error {
	if !t.timely(0) {
		return &RetryError{0, err}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	t.turnTo(ctx, next, kind, err)
	return nil
}

// goBack waits for a member that was left before, since the current one has failed
// permanently and no other remains.
func (t *Turn) goBack(ctx context.Context, back *leftMember, kind model.ErrorKind, err error) error {
	wait, ok := t.wait(ctx, back.member, back.member.Name, back.kind, back.asked)
	if !ok {
		return &EndError{Code: "model", Cause: t.gone(err, kind)}
	}
	t.step.Claim.Warn(ctx, "model call failed permanently, earlier pool member retried", "kind", kind, "member", back.member.ID, "wait", wait, "failed", t.failed, "error", err)
	t.step.Events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Wait: wait.Milliseconds(), Reason: string(kind)})
	t.pauses(wait)
	if !t.stays(wait) {
		return &RetryError{wait, t.gone(err, kind)}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	t.turnTo(ctx, back.member, kind, err)
	t.pool.paused = len(t.pool.left)
	return t.env().Sleep(ctx, wait)
}

// overflowed continues after a request that the provider has refused as too long.
// Once in a delivery the model sees less, and is called again immediately, even if
// no calls of the step remain. The refusal counts among them, so that a step which
// crashes here again and again ends. What it says of the model's window counts for
// the later requests of this process.
func (t *Turn) overflowed(ctx context.Context, err error) error {
	if t.shortened {
		return &EndError{Code: "context_overflow", Cause: err}
	}
	failure, _ := errors.AsType[*model.Error](err)
	limit := limitOf(failure, t.member, t.asked.Model)
	if limit > 0 && !t.step.Circuits.Off {
		t.step.Windows.Learn(t.member, t.asked.Model, limit, t.env().Now())
	}
	first, ok := t.step.Prompt.Shorten(&t.asked, limit)
	if !ok {
		return &EndError{Code: "context_overflow", Cause: err}
	}
	t.shortened = true
	said := []any{"first", first, "failed", t.failed, "error", err}
	if limit > 0 {
		said = append(said, "model", t.asked.Origin, "window", limit, "expected", t.member.ContextWindow)
	}
	t.step.Claim.Warn(ctx, "request too long for the model, shortened", said...)
	t.step.Events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Reason: string(model.KindOverflow), Limit: limit})
	return t.cutPieces(ctx)
}

// stays reports whether the step itself makes the next call. Without a reader it
// never does: a background run costs nothing while it waits in the mailbox.
func (t *Turn) stays(wait time.Duration) bool {
	return wait <= maxPause && t.step.Events.Listened() && t.timely(wait)
}

// timely reports whether the step has time for a call after a pause.
func (t *Turn) timely(wait time.Duration) bool {
	return t.step.Until.IsZero() || !t.env().Now().Add(wait+callTime).After(t.step.Until)
}

// cutPieces removes from the turn the pieces that a failed call has left. Clients
// hold positions of dropped calls and echoes, at which the committed turn will have
// other content. Later events are therefore emitted under the next fence, so that a
// client that reconnects there learns that the step was restarted.
func (t *Turn) cutPieces(ctx context.Context) error {
	t.spent.EndCall()
	if !t.speech.cut() {
		return nil
	}
	fence, err := t.step.Claim.Refence(ctx)
	if err != nil {
		return err
	}
	t.step.Events.Restart(fence)
	t.step.Events.Retell(func() { t.speech.retell(t.step.Began) })
	return nil
}

// Pause is the limit of the pause before a call is made again, after so many failed calls:
// it is to be jittered.
func Pause(retry agent.Retry, kind model.ErrorKind, failed uint8) time.Duration {
	base := retry.Backoff()
	if kind == model.KindOverloaded {
		base = retry.OverloadedBackoff()
	}
	return min(modelCap, base<<min(failed-1, 6))
}

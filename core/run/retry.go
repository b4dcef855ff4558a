package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/thread"
)

// Pauses before a failed model call is made again: full jitter over
// base * 2^(failed calls - 1), or what the provider asks for, if that is longer. The
// bases are the agent's, see agent.Retry.
const (
	modelCap      = 30 * time.Second
	maxRetryAfter = 5 * time.Minute // the longest pause that a provider may ask for
)

// A failed call is made again by the same step while somebody waits for its
// words and the pause is short, unless the step's time would hardly suffice. All
// other pauses are waited for in the mailbox, at no cost: the claim is free, and
// a process that stops meanwhile loses nothing.
const (
	maxPause = 2 * time.Second
	callTime = 10 * time.Second // of the step, behind the pause
)

// modelRetry is a model call that failed and is made again, by another
// delivery.
type modelRetry struct {
	wait  time.Duration
	cause error
}

func (r *modelRetry) Error() string { return "inference: " + r.cause.Error() }

func (r *modelRetry) Unwrap() error { return r.cause }

// modelCalls is how often the step may call its model over all its deliveries
// together.
func (t *turnBuilder) modelCalls() uint8 { return uint8(t.draft.base.agent.Spec.ModelCalls()) } // at most 21, see agent.Spec.Check

// callsSoFar is how many of the allowed model calls of the step have failed in
// earlier deliveries. A claim that was lost may have cost one, but never the
// last: else a run could fail without a failed call.
func callsSoFar(failed, lost, allowed uint8) uint8 {
	return max(failed, uint8(min(int(failed)+int(lost), int(allowed)-1)))
}

// callFailed decides what a failed model call comes to. Without an error the
// turn is whole, or the pause is over and the next call goes on where this one
// has left the turn.
func (t *turnBuilder) callFailed(ctx context.Context, err error) error {
	if errors.Is(err, thread.ErrClosing) { // the run was ended under the model, as a replay's is
		return err
	}
	t.broken = true
	t.failed++ // counted before anything else: whichever way the step goes on, the nack has it
	kind, asked := classify(err)
	if passing(err) && t.whole() {
		t.draft.base.holder.warn(ctx, "model call failed behind a whole turn, which stands", "kind", kind, "failed", t.failed, "error", err)
		return t.cutPieces(ctx)
	}
	leaves := !t.whole() && t.leaves(err, kind, asked)
	if leaves && t.failed < t.modelCalls() {
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
	case kind == model.KindOverflow && !t.whole():
		return t.overflowed(ctx, err)
	case !passing(err):
		return endWith("model", err)
	case asked > maxRetryAfter:
		return endAt("rate_limited", fmt.Sprintf("the provider asks for a pause of %s, at most %s are waited", asked, maxRetryAfter), err)
	case t.failed >= t.modelCalls():
		return endWith("model", err)
	}
	wait := max(t.draft.base.holder.env.Jitter(pause(t.draft.base.agent.Spec.Retry, kind, t.failed)), asked, t.draft.base.holder.closedFor(t.member, t.asked.Model))
	t.draft.base.holder.warn(ctx, "model call failed and is made again", "kind", kind, "wait", wait, "failed", t.failed, "error", err)
	t.draft.base.holder.events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Wait: wait.Milliseconds(), Reason: string(kind)})
	// Announced in both cases: a reader who stays sees why nothing comes.
	if !t.stays(wait) {
		return &modelRetry{wait, err}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	if leaves { // nobody was left: behind the pause each may be tried again
		t.pool.paused = len(t.pool.left)
	}
	return t.draft.base.holder.env.Sleep(ctx, wait)
}

// goElsewhere goes on with another member of the pool, at once, whoever listens: there is
// nothing to wait for. Only where the step's time would hardly suffice another delivery
// tries them anew.
func (t *turnBuilder) goElsewhere(ctx context.Context, next *agent.BoundModel, kind model.ErrorKind, err error) error {
	if !t.timely(0) {
		return &modelRetry{0, err}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	t.leave(ctx, next, kind, err)
	return nil
}

// goBack waits for a member that was left before, since the one that is asked has failed
// for good and nobody else is left.
func (t *turnBuilder) goBack(ctx context.Context, back *leftMember, kind model.ErrorKind, err error) error {
	d := t.draft
	wait := max(d.base.holder.env.Jitter(pause(d.base.agent.Spec.Retry, back.kind, t.failed)), back.asked, d.base.holder.closedFor(back.member, back.member.Name))
	d.base.holder.warn(ctx, "model call failed for good, and a member of the pool that was left is asked again", "kind", kind, "member", back.member.ID, "wait", wait, "failed", t.failed, "error", err)
	d.base.holder.events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Wait: wait.Milliseconds(), Reason: string(kind)})
	if !t.stays(wait) {
		return &modelRetry{wait, t.gone(err, kind)}
	}
	if err := t.cutPieces(ctx); err != nil {
		return err
	}
	t.leave(ctx, back.member, kind, err)
	t.pool.paused = len(t.pool.left)
	return d.base.holder.env.Sleep(ctx, wait)
}

// overflowed goes on behind a request that the provider has refused as too long: once
// in a delivery the model is shown less, and called again at once, whatever calls the
// step has left. The refusal counts among them, so that a step which crashes at this
// again and again comes to an end.
func (t *turnBuilder) overflowed(ctx context.Context, err error) error {
	if t.shortened || !t.draft.overflowed(&t.asked) {
		return endWith("context_overflow", err)
	}
	t.shortened = true
	t.draft.base.holder.warn(ctx, "the request was too long for the model, which is shown less", "first", t.draft.window.First, "failed", t.failed, "error", err)
	t.draft.base.holder.events.Emit(core.Event{Type: core.EventInferenceRetry, Failed: int(t.failed), Reason: string(model.KindOverflow)})
	return t.cutPieces(ctx)
}

// stays reports whether the step itself makes the next call. Without a reader it
// never does: a background run costs nothing while it waits in the mailbox.
func (t *turnBuilder) stays(wait time.Duration) bool {
	return wait <= maxPause && t.draft.base.holder.events.Listened() && t.timely(wait)
}

// timely reports whether the step has time for a call behind a pause.
func (t *turnBuilder) timely(wait time.Duration) bool {
	return t.draft.base.holder.last.IsZero() || !t.draft.base.holder.env.Now().Add(wait+callTime+afterDeadline).After(t.draft.base.holder.last)
}

// cutPieces takes from the turn what a failed call has left in pieces. Clients hold
// positions of dropped calls and echoes, at which the committed turn will have something
// else: what follows is emitted under the next fence, so that a client that
// reconnects there is told that the step was restarted.
func (t *turnBuilder) cutPieces(ctx context.Context) error {
	if !t.cut() {
		return nil
	}
	if err := t.draft.base.holder.refence(ctx, t.draft.base.holder.head); err != nil {
		return err
	}
	t.draft.base.holder.events.Restart(t.draft.base.holder.fence())
	t.draft.base.holder.events.Retell(t.retell)
	return nil
}

// retell emits what stands of the turn again, for readers of its new attempt.
func (t *turnBuilder) retell() {
	t.draft.base.holder.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(t.draft.base.holder.at), MessageID: t.id})
	for i, b := range t.blocks {
		t.emitBlock(b.Type, b.Text, i)
		if b.Echo != nil {
			t.emitEcho(i)
		}
	}
	t.emitBlock(t.kind, t.text.String(), len(t.blocks))
	for i, c := range t.calls {
		block := len(t.blocks) + i
		t.emit(core.Event{Type: core.EventToolCallStart, CallID: c.id, Name: c.name}, block, 0)
		if c.arguments.Len() > 0 {
			t.emit(core.Event{Type: core.EventToolCallDelta, CallID: c.id, Delta: c.arguments.String()}, block, c.arguments.Len())
		}
	}
}

// emitBlock emits the text of a block as one delta.
func (t *turnBuilder) emitBlock(kind core.BlockType, text string, block int) {
	event := core.EventTextDelta
	if kind == core.BlockReasoning {
		event = core.EventReasoningDelta
	}
	if text != "" {
		t.emit(core.Event{Type: event, Delta: text}, block, len(text))
	}
}

// passing reports whether another call of the model may fare better. An unknown
// error is taken for permanent: the same request would fail the same way.
func passing(err error) bool { return model.Transient(err) || errors.Is(err, model.ErrTruncated) }

// waits reports whether a call that failed so is worth the wait for another one.
func waits(err error, asked time.Duration) bool { return passing(err) && asked <= maxRetryAfter }

// classify returns the kind of a failure and the pause that the provider asks
// for, 0 for none.
func classify(err error) (model.ErrorKind, time.Duration) {
	var failure *model.Error
	if errors.As(err, &failure) {
		return failure.Kind, failure.RetryAfter
	}
	return model.KindInterrupted, 0
}

// pause is the limit of the pause after so many failed calls.
func pause(retry agent.Retry, kind model.ErrorKind, failed uint8) time.Duration {
	base := retry.Backoff()
	if kind == model.KindOverloaded {
		base = retry.OverloadedBackoff()
	}
	return min(modelCap, base<<min(failed-1, 6))
}

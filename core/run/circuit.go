package run

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
)

// The circuits of models are the Stepper's own, and so the process's: a container finds
// out by itself that a model fails, and nothing of it is stored. A step whose model's
// circuit is open makes no call, and so loses none of those that it may make: it goes to
// another member of its pool, or waits in the mailbox until the circuit lets a call
// through. Its next delivery may be another container's, which calls at once.

// circuitOf names the circuit of a model that is called by the provider's name.
func circuitOf(m *agent.BoundModel, name string) model.CircuitName {
	if m.Provider == "" {
		return model.CircuitName{ID: m.ID, Model: name}
	}
	return model.CircuitName{Provider: m.Provider, Model: name}
}

// closedFor is how long the circuit of a model refuses calls.
func (h *holder) closedFor(m *agent.BoundModel, name string) time.Duration {
	return h.s.breakers.Wait(circuitOf(m, name), h.env.Now())
}

// refusedError is a call that an open circuit refuses.
type refusedError struct{ wait time.Duration }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the circuit of the model is open in this process, for %s more", e.wait)
}

// Unwrap makes it a failure that passes by itself, of a provider that has too much to do.
func (e *refusedError) Unwrap() error {
	return &model.Error{Kind: model.KindOverloaded, Message: e.Error(), RetryAfter: e.wait}
}

// callModel calls the model that is asked, if its circuit lets it, and tells the circuit
// what that came to.
func (t *turnBuilder) callModel(ctx context.Context) error {
	d := t.draft
	if !d.base.holder.s.choices.Acts() {
		return t.stream(ctx)
	}
	permit, wait := d.base.holder.s.breakers.Begin(circuitOf(t.member, t.asked.Model), d.base.holder.env.Now())
	if wait > 0 {
		return &refusedError{wait}
	}
	if permit.Probe {
		t.announceCircuit(ctx, model.CircuitHalfOpen, 0)
	}
	err := t.stream(ctx)
	if state, changed := d.base.holder.s.breakers.End(permit, outcomeOf(ctx, err), d.base.holder.env.Now()); changed {
		t.announceCircuit(ctx, state, d.base.holder.closedFor(t.member, t.asked.Model))
	}
	return err
}

// outcomeOf is what a call says about its model.
func outcomeOf(ctx context.Context, err error) model.CallOutcome {
	switch {
	case ctx.Err() != nil: // whatever it says, nobody waited for it
		return model.CallVoid
	case err == nil:
		return model.CallSucceeded
	case passing(err):
		return model.CallFailed
	}
	return model.CallVoid
}

// stream makes one call of the model and adds what it says to the turn. A
// stream that ends without a stop is a failure. It runs in this goroutine,
// so that a delta is emitted before the next one is asked for; a panic of the
// adapter is an error like any other.
func (t *turnBuilder) stream(ctx context.Context) error {
	t.draft.base.holder.env.Reach(env.PointModel, env.Before)
	began := t.draft.base.holder.env.Now()
	t.spent.Call()
	err := env.Protect(func() error {
		for delta, err := range t.member.Model.Stream(ctx, t.asked) {
			if err != nil {
				return err
			}
			if err := t.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	t.spent.Took(t.draft.base.holder.env.Now().Sub(began))
	t.draft.base.holder.env.Reach(env.PointModel, env.After)
	if err == nil && t.stop == "" {
		return model.ErrTruncated
	}
	return err
}

// announceCircuit tells a circuit's state, and for how long it refuses calls. It is this
// process's: another one may call the model.
func (t *turnBuilder) announceCircuit(ctx context.Context, state model.CircuitState, wait time.Duration) {
	t.draft.base.holder.warn(ctx, "circuit of a model, in this process", "model", t.member.ID, "circuit", state, "wait", wait)
	t.draft.base.holder.events.Emit(core.Event{Type: core.EventModelCircuit, Model: t.member.ID, Status: string(state), Wait: wait.Milliseconds()})
}

// refused decides what becomes of a call that a circuit refuses for so long. Without an
// error another member of the pool takes the model's place.
func (t *turnBuilder) refused(ctx context.Context, wait time.Duration) error {
	if t.pool != nil && t.pool.rules.LeavesOpen() {
		if next := t.nextMember(); next != nil {
			t.leave(ctx, next, reasonOpen, &refusedError{wait})
			return nil
		}
		wait = t.soonest(wait)
	}
	cause := &refusedError{wait}
	// Spread, so that not all who wait come at once for the one call that probes.
	wait += t.draft.base.holder.env.Jitter(model.CircuitProbe)
	t.announceCircuit(ctx, model.CircuitOpen, wait)
	return &modelRetry{wait, cause}
}

package inference

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// Circuits are those of the models that a process calls, and so of one container: it finds
// out by itself that a model fails, and nothing of it is stored. A step whose model's
// circuit is open makes no call, and so loses none of those that it may make: it calls
// another member of its pool, or waits in the mailbox until the circuit lets a call
// through. Its next delivery may be another container's, which calls immediately.
//
// It is safe for concurrent use once Env is set.
type Circuits struct {
	Env *env.Env
	// Off means that all calls are made and that none counts, as in a replay of
	// recorded runs.
	Off bool

	breakers breaker.Breakers
}

// Listener receives the output of a call, in the goroutine that makes it.
type Listener interface {
	// Hear takes the model's output; an error ends the call with it.
	Hear(d model.Delta) error
	// Stopped reports whether the model has announced its stop, in this call.
	Stopped() bool
	// Circuit receives a new state of the model's circuit, and how long it refuses calls.
	Circuit(ctx context.Context, state breaker.CircuitState, wait time.Duration)
}

// Wait is how long the circuit of a model refuses calls, by the provider's name for it; 0:
// it does not.
func (c *Circuits) Wait(m *registry.BoundModel, name string) time.Duration {
	return c.breakers.Wait(circuitOf(m, name), c.Env.Now())
}

// Call makes one call of a model, if its circuit lets it, and reports the outcome
// to the circuit. The error is a *[RefusedError] when the call was not made,
// errTruncated when the stream ended without a stop, or the provider's. spent
// counts the call before it is made.
func (c *Circuits) Call(ctx context.Context, m *registry.BoundModel, request model.Request, spent *accounting.Spent, to Listener) error {
	if c.Off {
		_, err := c.stream(ctx, m, request, spent, to)
		return err
	}
	permit, wait := c.breakers.Begin(circuitOf(m, request.Model), c.Env.Now())
	if wait > 0 {
		return &RefusedError{wait}
	}
	if permit.Probe {
		to.Circuit(ctx, breaker.CircuitHalfOpen, 0)
	}
	spoke, err := c.stream(ctx, m, request, spent, to)
	if state, changed := c.breakers.End(permit, outcomeOf(ctx, spoke, err), c.Env.Now()); changed {
		to.Circuit(ctx, state, c.Wait(m, request.Model))
	}
	return err
}

// outcomeOf is what a call says about its model. A model that has spoken is there: a
// stream that breaks off later is no reason to leave other runs without it.
func outcomeOf(ctx context.Context, spoke bool, err error) breaker.CallOutcome {
	switch {
	case ctx.Err() != nil: // the error does not matter: no step waits for the call
		return breaker.CallVoid
	case err == nil:
		return breaker.CallSucceeded
	case spoke:
		return breaker.CallVoid
	case Passing(err):
		return breaker.CallFailed
	}
	return breaker.CallVoid
}

// stream makes the call, and reports whether the model has said anything. It runs in this
// goroutine, so that a delta is heard before the next one is read; a panic of the adapter
// is an error like any other.
func (c *Circuits) stream(ctx context.Context, m *registry.BoundModel, request model.Request, spent *accounting.Spent, to Listener) (spoke bool, err error) {
	done := c.Env.Reach(point.Model)
	began := c.Env.Now()
	spent.Call()
	if request.Model == m.Name { // of another model of the provider nothing is known
		request.Levels = m.Levels
	}
	h := &hearer{spent: spent, to: to, long: m.LongInput} // a loop over the stream would take more memory
	err = env.Protect(func() error {
		m.Model.Stream(ctx, request)(h.hear)
		return h.err
	})
	spent.Took(c.Env.Now().Sub(began))
	done()
	if err == nil && !to.Stopped() {
		err = errTruncated
	}
	return h.spoke, err
}

// mostResponse is the size limit of a response of a model, in bytes: of its texts, arguments
// and citations, and of what goes back to it. A stream without an end would take all memory.
const mostResponse = 32 << 20

// errTooLong is permanent: another response would most likely be as long.
var errTooLong = &model.Error{Kind: model.KindInvalid, Message: "the response of the model is longer than 32 MB, the limit"}

// hearer receives the deltas of a call.
type hearer struct {
	spent *accounting.Spent
	to    Listener
	long  int   // tokens of input from which on the model costs more; 0: none
	size  int   // of the response so far, in bytes
	spoke bool  // text, reasoning or a tool call came
	err   error // ends the call
}

// hear reports whether the call continues after a delta, or an error of the stream. After
// the end of the call, it ignores what an adapter still sends.
func (h *hearer) hear(delta model.Delta, err error) bool {
	if h.err != nil {
		return false
	}
	if err == nil {
		switch delta.Type {
		case model.DeltaUsage:
			h.spent.Count(counted(delta.Usage).Above(h.long))
		case model.DeltaText, model.DeltaReasoning, model.DeltaToolStart:
			h.spoke = true
		}
		if h.size += sizeOf(&delta); h.size > mostResponse {
			err = errTooLong
		} else {
			err = h.to.Hear(delta)
		}
	}
	h.err = err
	return err == nil
}

// sizeOf is what a delta adds to a response, in bytes.
func sizeOf(d *model.Delta) int {
	size := len(d.Text) + len(d.Echo) + len(d.CallID) + len(d.Name)
	if a := d.Annotation; a != nil {
		size += len(a.URL) + len(a.Title) + len(a.Quote) + len(a.ID)
	}
	return size
}

// mostTokens is the largest count of a call that is believed: sums of larger ones could
// leave the range of numbers.
const mostTokens = 1_000_000_000

// counted is the provider's count, within bounds: a number below zero would refund a token
// budget.
func counted(u core.Usage) core.Usage {
	within := func(n int) int { return min(max(n, 0), mostTokens) }
	return core.Usage{
		Input: within(u.Input), Output: within(u.Output), CacheRead: within(u.CacheRead),
		CacheWrite: within(u.CacheWrite), Reasoning: within(u.Reasoning), CacheWriteHour: within(u.CacheWriteHour),
	}
}

package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// The defaults of [Retry].
const (
	DefaultRetries        = 2
	DefaultBase           = 500 * time.Millisecond
	DefaultOverloadedBase = 2 * time.Second
	DefaultCap            = 30 * time.Second
	DefaultReserve        = 2 * time.Second
)

// Retry is a Model that repeats another's inferences which failed before their
// first delta with an error that may pass ([Transient]). What fails later is the
// caller's to repair, since a client may have seen the beginning.
//
// The wait before retry n (from 0) is drawn evenly from [0, Base * 2^n), at most
// Cap, or is what the provider asked for, if that is longer. A wait longer than
// Cap, or one that would leave less than Reserve of the context's deadline, is
// not made: the error is returned at once, RetryAfter and all, for a queue that
// can wait at no cost.
type Retry struct {
	Model Model
	Env   *env.Env // required: clock, sleep and randomness

	Max            int           // retries after the first attempt; 0: DefaultRetries, negative: none
	Base           time.Duration // 0: DefaultBase
	OverloadedBase time.Duration // instead of Base after KindOverloaded; 0: DefaultOverloadedBase
	Cap            time.Duration // 0: DefaultCap
	Reserve        time.Duration // 0: DefaultReserve
}

// Stream implements Model. An inference that ends with neither a delta nor an
// error failed with KindInterrupted. When ctx ends during a wait, the error
// wraps ctx.Err() and is not transient.
func (r *Retry) Stream(ctx context.Context, request Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for attempt := 0; ; attempt++ {
			began, failure := r.try(ctx, request, yield)
			if failure == nil {
				return
			}
			wait, again := r.wait(ctx, attempt, failure)
			if began || !again {
				yield(Delta{}, failure)
				return
			}
			if err := r.Env.Sleep(ctx, wait); err != nil {
				yield(Delta{}, fmt.Errorf("wait to repeat the inference: %w (after: %v)", err, failure))
				return
			}
		}
	}
}

// try makes one attempt and passes its deltas on, but not its error. It returns
// no failure when the attempt succeeded or yield asked to stop.
func (r *Retry) try(ctx context.Context, request Request, yield func(Delta, error) bool) (began bool, failure error) {
	for delta, err := range r.Model.Stream(ctx, request) {
		if err != nil {
			return began, err
		}
		began = true
		if !yield(delta, nil) {
			return true, nil
		}
	}
	if !began {
		return false, &Error{Kind: KindInterrupted, Message: "the model answered nothing"}
	}
	return true, nil
}

// wait returns how long to wait before the attempt after the given one (from
// 0), and whether to make it.
func (r *Retry) wait(ctx context.Context, attempt int, failure error) (time.Duration, bool) {
	var e *Error
	if !errors.As(failure, &e) || !e.Transient() || attempt >= r.max() {
		return 0, false
	}
	limit := orDefault(r.Cap, DefaultCap)
	base := orDefault(r.Base, DefaultBase)
	if e.Kind == KindOverloaded {
		base = orDefault(r.OverloadedBase, DefaultOverloadedBase)
	}
	for range attempt {
		base = min(base, limit/2) * 2 // not past the limit, so it cannot overflow
	}
	wait := max(r.Env.Jitter(min(base, limit)), e.RetryAfter)
	if wait > limit {
		return 0, false
	}
	if deadline, ok := ctx.Deadline(); ok {
		latest := deadline.Add(-orDefault(r.Reserve, DefaultReserve))
		if r.Env.Now().Add(wait).After(latest) {
			return 0, false
		}
	}
	return wait, true
}

func (r *Retry) max() int {
	if r.Max == 0 {
		return DefaultRetries
	}
	return r.Max
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

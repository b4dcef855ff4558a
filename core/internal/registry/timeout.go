package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core/model"
)

// timed is a provider's client whose calls end after [ProviderSpec].TimeoutMS.
type timed struct {
	inner model.Model
	limit time.Duration
}

// timedChecker is a timed client that knows what it cannot express.
type timedChecker struct {
	timed   timed
	checker model.Checker
}

func limited(m model.Model, limit time.Duration) model.Model {
	t := timed{m, limit}
	if c, ok := m.(model.Checker); ok {
		return timedChecker{t, c}
	}
	return t
}

// Check implements model.Checker.
func (t timedChecker) Check(request model.Request) error { return t.checker.Check(request) }

// Stream implements model.Model.
func (t timedChecker) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return t.timed.Stream(ctx, request)
}

var errLimit = errors.New("the provider's timeout_ms is over")

// Stream implements model.Model. A call that takes too long fails with KindTimeout, after
// its first delta with KindInterrupted.
func (t timed) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ctx, cancel := context.WithTimeoutCause(ctx, t.limit, errLimit)
		defer cancel()
		begun := false
		for delta, err := range t.inner.Stream(ctx, request) {
			if err != nil && errors.Is(context.Cause(ctx), errLimit) {
				kind := model.KindTimeout
				if begun {
					kind = model.KindInterrupted
				}
				err = &model.Error{Kind: kind, Message: fmt.Sprintf("the call was not over after %v: %v", t.limit, err)}
			}
			begun = true
			if !yield(delta, err) {
				return
			}
		}
	}
}

package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// Sweeper repairs what no wake-up reached: it wakes overdue threads and says
// how many, also when it could not finish.
type Sweeper interface {
	Sweep(ctx context.Context) (woken int, err error)
}

// SweepOptions configures [SweepHandler].
type SweepOptions struct {
	Sweeper Sweeper // required
	// DeadLetters is drained by each sweep; nil: none is.
	DeadLetters DeadLetterQueue
	Unfinished  Unfinished    // required with DeadLetters
	Env         *env.Env      // nil: env.System()
	Logger      *slog.Logger  // nil: slog.Default()
	Reserve     time.Duration // as in [StepOptions]
}

// SweepResult is what a sweep returns to whoever invoked it.
type SweepResult struct {
	Woken int `json:"woken"`          // overdue threads
	Dead  int `json:"dead,omitempty"` // messages that are gone from the dead-letter queue
}

// SweepHandler returns a handler for a schedule (EventBridge Scheduler or rule);
// it does not look at the event. It wakes overdue threads and drains the
// dead-letter queue at the same time, each to its end or that of the invocation's
// time, so that neither starves the other. An error or a panic of either fails the
// invocation; the next one starts again, since a sweep can be repeated at will.
func SweepHandler(o SweepOptions) func(context.Context, json.RawMessage) (SweepResult, error) {
	letters := newLetters(DeadLetterOptions{Unfinished: o.Unfinished, Env: o.Env, Logger: o.Logger})
	e, log, reserve := letters.env, letters.log, o.Reserve
	if reserve <= 0 {
		reserve = DefaultReserve
	}
	return func(work context.Context, _ json.RawMessage) (SweepResult, error) {
		ctx, cancel := endBefore(work, e.Now(), reserve)
		defer cancel()
		var result SweepResult
		parts := []func() error{func() (err error) {
			result.Woken, err = o.Sweeper.Sweep(ctx)
			return err
		}}
		if o.DeadLetters != nil {
			parts = append(parts, func() (err error) {
				result.Dead, err = letters.drain(ctx, work, o.DeadLetters)
				return err
			})
		}
		errs := make([]error, len(parts))
		_ = e.Each(len(parts), func(i int) error { // its own error is only the first
			errs[i] = env.Protect(parts[i])
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			log.ErrorContext(ctx, "sweep failed", append([]any{"woken", result.Woken, "dead", result.Dead}, errorAttrs(err)...)...)
			return result, fmt.Errorf("sweep: %w", err)
		}
		log.InfoContext(ctx, "sweep", "woken", result.Woken, "dead", result.Dead)
		return result, nil
	}
}

package awslambda

import (
	"context"
	"encoding/json"
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
	Sweeper Sweeper       // required
	Env     *env.Env      // nil: env.System()
	Logger  *slog.Logger  // nil: slog.Default()
	Reserve time.Duration // as in [StepOptions]
}

// SweepResult is what a sweep returns to whoever invoked it.
type SweepResult struct {
	Woken int `json:"woken"`
}

// SweepHandler returns a handler for a schedule (EventBridge Scheduler or rule);
// it does not look at the event. An error, or a panic of the sweeper, fails the
// invocation; the next one starts again, since a sweep can be repeated at will.
func SweepHandler(o SweepOptions) func(context.Context, json.RawMessage) (SweepResult, error) {
	e, log, reserve := orSystem(o.Env), orDefault(o.Logger), o.Reserve
	if reserve <= 0 {
		reserve = DefaultReserve
	}
	return func(ctx context.Context, _ json.RawMessage) (SweepResult, error) {
		ctx, cancel := endBefore(ctx, e.Now(), reserve)
		defer cancel()
		var result SweepResult
		err := env.Protect(func() (err error) {
			result.Woken, err = o.Sweeper.Sweep(ctx)
			return err
		})
		if err != nil {
			log.ErrorContext(ctx, "sweep failed", append([]any{"woken", result.Woken}, errorAttrs(err)...)...)
			return result, fmt.Errorf("sweep: %w", err)
		}
		log.InfoContext(ctx, "sweep", "woken", result.Woken)
		return result, nil
	}
}

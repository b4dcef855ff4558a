package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// sweepResult is what a sweep returns to its caller.
type sweepResult struct {
	Woken int `json:"woken"`          // overdue threads
	Dead  int `json:"dead,omitempty"` // messages that are gone from the dead-letter queue
}

// Sweep returns a handler for a schedule (EventBridge Scheduler or rule);
// it does not look at the event. It wakes overdue threads and drains the
// dead-letter queue at the same time, each to its end or that of the invocation's
// time, so that neither starves the other. An error or a panic of either fails the
// invocation; the next one starts again, since a sweep can be repeated at will. The response
// is {"woken", "dead"}: how many threads were woken, and how many messages are gone from the
// dead-letter queue.
//
// sweep wakes overdue threads and says how many, also when it could not finish. queue is the
// dead-letter queue, whose messages are handled as by [Handlers.DeadLetters] with rewake;
// nil: none is drained. Its Receive waits up to wait for 1 to most messages, at most 10,
// each of which is hidden for some minutes then; no message in that time is an empty
// response. Its Delete removes messages by their receipts; what it could not remove comes
// again.
func (h Handlers) Sweep(sweep func(context.Context) (woken int, err error), rewake func(context.Context, core.WakeUp) (woken bool, err error), queue interface {
	Receive(ctx context.Context, most int, wait time.Duration) ([]events.SQSMessage, error)
	Delete(ctx context.Context, receipts []string) error
}) func(context.Context, json.RawMessage) (any, error) {
	h = h.withDefaults(defaultReserve)
	e, log, letters := h.Env, h.Logger, letters{rewake, h.Env, h.Logger}
	return func(work context.Context, _ json.RawMessage) (any, error) {
		ctx, cancel := endBefore(work, e.Now(), h.Reserve)
		defer cancel()
		var result sweepResult
		parts := []func() error{func() (err error) {
			result.Woken, err = sweep(ctx)
			return err
		}}
		if queue != nil {
			parts = append(parts, func() (err error) {
				result.Dead, err = letters.drain(ctx, work, queue)
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

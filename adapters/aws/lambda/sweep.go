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

// Sweep returns a handler for a schedule (EventBridge Scheduler or rule); it ignores the
// event. It wakes overdue threads and drains the dead-letter queue concurrently, each
// until it is done or the invocation's time ends, so that neither starves the other. An
// error or a panic of either fails the invocation; the next invocation starts again,
// since a sweep can be repeated safely. The response is {"woken", "dead"}: the number of
// threads that were woken, and the number of messages that were removed from the
// dead-letter queue.
//
// sweep wakes overdue threads and returns their number, also when it could not finish.
// queue is the dead-letter queue, whose messages are handled as by [Handlers.DeadLetters]
// with rewake; nil: no queue is drained. Its Receive waits up to wait for 1 to most
// messages, at most 10, and hides each of them for some minutes; if there is no message
// in that time, the response is empty. Its Delete removes messages by their receipts; a
// message that it could not remove is delivered again.
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

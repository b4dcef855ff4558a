package lambda

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Step returns a handler for batches of wake-ups from SQS with ReportBatchItemFailures.
// The threads of a batch are worked on concurrently, each once; the failure of one fails
// its own messages only. A message that is not a wake-up is acknowledged and logged,
// since it can never succeed.
//
// The handler itself never returns an error. It ignores the queue's receive count: the
// sweep always sends new messages, and only claims count as attempts of a run.
//
// work is the method WorkBatch of a host: it works on the threads of one delivery
// concurrently and returns an error for each wake-up that the queue should deliver again.
// A wake-up whose work is already done is not an error. The failure of one wake-up does
// not affect the others.
func (h Handlers) Step(work func(ctx context.Context, hints []core.WakeUp) []error) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	h = h.withDefaults(defaultReserve)
	s := stepper{work: work, env: h.Env, log: h.Logger, reserve: h.Reserve}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		return s.handle(ctx, readBatch(event, s.log)), nil
	}
}

type stepper struct {
	work    func(context.Context, []core.WakeUp) []error
	env     *env.Env
	log     *slog.Logger
	reserve time.Duration
}

func (s stepper) handle(ctx context.Context, b batch) events.SQSEventResponse {
	ctx, cancel := endBefore(ctx, s.env.Now(), s.reserve)
	defer cancel()
	hints := make([]core.WakeUp, len(b.deliveries))
	for i, d := range b.deliveries {
		hints[i] = d.wake
	}
	var errs []error
	if err := env.Protect(func() error {
		errs = s.work(ctx, hints)
		return nil
	}); err != nil {
		errs = make([]error, len(hints))
		for i := range errs {
			errs[i] = err
		}
	}
	var failed []*delivery
	for i, d := range b.deliveries {
		if errs[i] == nil {
			continue
		}
		level := slog.LevelError
		if errors.Is(ctx.Err(), context.Canceled) {
			level = slog.LevelWarn // the host is stopping; the wake-up comes again
		}
		s.log.Log(ctx, level, "step failed", append(d.attrs(), errorAttrs(errs[i])...)...)
		failed = append(failed, d)
	}
	b.logResult(ctx, s.log, "step batch", len(failed))
	return itemFailures(failed)
}

// endBefore returns a context that ends reserve before the deadline of ctx, but
// not before half of the time has passed; without a deadline it just ends with
// ctx.
func endBefore(ctx context.Context, now time.Time, reserve time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(reserve, deadline.Sub(now)/2)))
}

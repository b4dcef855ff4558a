package lambda

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// DeadLetters returns a handler for the dead-letter queue of the mailbox,
// with ReportBatchItemFailures. A wake-up is only a hint, so one that ran out of
// receives says nothing about its run: the thread's head decides. Unfinished
// work is woken again and the message deleted; what is finished is just deleted;
// a message whose thread could not be looked at stays in the queue.
//
// The handler itself never returns an error.
//
// rewake is the method Rewake of a host or mailbox: it reads a thread's head and, when it
// still has work to do, sends a new wake-up with a delay; woken says whether it did.
func (h Handlers) DeadLetters(rewake func(context.Context, core.WakeUp) (woken bool, err error)) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	h = h.withDefaults(defaultReserve)
	letters := letters{rewake, h.Env, h.Logger}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		ctx, cancel := endBefore(ctx, h.Env.Now(), h.Reserve)
		defer cancel()
		return itemFailures(letters.handle(ctx, event)), nil
	}
}

// letters looks after dead letters.
type letters struct {
	unfinished func(context.Context, core.WakeUp) (woken bool, err error)
	env        *env.Env
	log        *slog.Logger
}

// handle returns the deliveries that stay in the queue.
func (l letters) handle(ctx context.Context, event events.SQSEvent) (failed []*delivery) {
	b := readBatch(event, l.log)
	failed = runAll(ctx, l.env, b.deliveries, l.rewake)
	b.logResult(ctx, l.log, "dead-letter batch", len(failed))
	return failed
}

func (l letters) rewake(ctx context.Context, d *delivery) bool {
	var woken bool
	err := env.Protect(func() (err error) {
		woken, err = l.unfinished(ctx, d.wake)
		return err
	})
	if err != nil {
		l.log.ErrorContext(ctx, "dead letter not handled", append(d.attrs(), errorAttrs(err)...)...)
		return false
	}
	l.log.WarnContext(ctx, "dead letter", append(d.attrs(), "woken", woken)...)
	return true
}

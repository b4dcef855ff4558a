package lambda

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// DeadLetters returns a handler for the dead-letter queue of the mailbox, with
// ReportBatchItemFailures. A wake-up is only a hint, so a wake-up without receives left
// proves nothing about its run: the thread's head decides. If the thread has unfinished
// work, the handler sends a new wake-up and deletes the message. If the work is finished,
// it only deletes the message. If the thread could not be read, the message stays in the
// queue.
//
// The handler itself never returns an error.
//
// rewake is the method Rewake of a host or mailbox. It reads a thread's head and sends a
// new wake-up with a delay if there is work to do; woken reports whether it sent one.
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

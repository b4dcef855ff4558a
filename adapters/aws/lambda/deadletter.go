package lambda

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Unfinished reads a thread's head and, when it still has work to do, sends a
// new wake-up with a delay; woken says whether it did.
type Unfinished interface {
	Rewake(ctx context.Context, w core.WakeUp) (woken bool, err error)
}

// DeadLetterOptions configures [DeadLetterHandler].
type DeadLetterOptions struct {
	Unfinished Unfinished    // required
	Env        *env.Env      // nil: env.System()
	Logger     *slog.Logger  // nil: slog.Default()
	Reserve    time.Duration // as in [StepOptions]
}

// DeadLetterHandler returns a handler for the dead-letter queue of the mailbox,
// with ReportBatchItemFailures. A wake-up is only a hint, so one that ran out of
// receives says nothing about its run: the thread's head decides. Unfinished
// work is woken again and the message deleted; what is finished is just deleted;
// a message whose thread could not be looked at stays in the queue.
//
// The handler itself never returns an error.
func DeadLetterHandler(o DeadLetterOptions) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	letters, reserve := newLetters(o), o.Reserve
	if reserve <= 0 {
		reserve = DefaultReserve
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		ctx, cancel := endBefore(ctx, letters.env.Now(), reserve)
		defer cancel()
		return itemFailures(letters.handle(ctx, event)), nil
	}
}

// letters looks after dead letters.
type letters struct {
	unfinished Unfinished
	env        *env.Env
	log        *slog.Logger
}

func newLetters(o DeadLetterOptions) letters {
	return letters{o.Unfinished, orSystem(o.Env), orDefault(o.Logger)}
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
		woken, err = l.unfinished.Rewake(ctx, d.wake)
		return err
	})
	if err != nil {
		l.log.ErrorContext(ctx, "dead letter not handled", append(d.attrs(), errorAttrs(err)...)...)
		return false
	}
	l.log.WarnContext(ctx, "dead letter", append(d.attrs(), "woken", woken)...)
	return true
}

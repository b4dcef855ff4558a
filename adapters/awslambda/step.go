package awslambda

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// Worker works on a thread that a wake-up names. An error means that the
// wake-up should be delivered again; a wake-up with nothing left to do is no
// error.
type Worker interface {
	Work(ctx context.Context, w core.WakeUp) error
}

// DefaultReserve is the time that a handler keeps for itself before its
// invocation's deadline.
const DefaultReserve = 5 * time.Second

// suspectAfter is the receive count from which a message may be the one that
// takes its invocation down: it has come back twice.
const suspectAfter = 3

// StepOptions configures [StepHandler].
type StepOptions struct {
	Worker Worker       // required
	Env    *env.Env     // nil: env.System()
	Logger *slog.Logger // nil: slog.Default()
	// Reserve is how long before the invocation's deadline a step's context
	// ends: the time to hand the run on. 0: [DefaultReserve]. It is never more
	// than half of the time that is left.
	Reserve time.Duration
}

// StepHandler answers a handler for batches of wake-ups from SQS with
// ReportBatchItemFailures. Each thread of the batch gets one Work call, all at
// once; an error or a panic of one fails its own messages only. A message that
// is no wake-up is acknowledged and logged, since it can never succeed.
//
// A crash of the process takes the whole batch along, which no recover
// prevents. A thread whose message was received three times is therefore a
// suspect: it runs alone, after the others of its batch have ended, one suspect
// an invocation (the most often received) and only while nine tenths of the
// invocation's time are left, since a step that does not finish within its
// invocation ends its run. The other suspects go back to the queue as item
// failures, so that their receive count keeps growing: sent again as fresh
// wake-ups they would look innocent. Nothing gets lost by that: past the
// queue's limit of receives [DeadLetterHandler] wakes them again, the sweep
// does it even sooner, and only claims count as attempts of a run.
//
// The handler itself never returns an error.
func StepHandler(o StepOptions) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	s := stepper{worker: o.Worker, env: orSystem(o.Env), log: orDefault(o.Logger), reserve: o.Reserve}
	if s.reserve <= 0 {
		s.reserve = DefaultReserve
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		return s.handle(ctx, readBatch(event, s.log)), nil
	}
}

type stepper struct {
	worker  Worker
	env     *env.Env
	log     *slog.Logger
	reserve time.Duration
}

func (s stepper) handle(ctx context.Context, b batch) events.SQSEventResponse {
	started := s.env.Now()
	ctx, cancel := endBefore(ctx, started, s.reserve)
	defer cancel()
	together, alone, sentBack := b.split()
	failed := runAll(ctx, s.env, together, s.work)
	if alone != nil {
		if len(together) == 0 || wholeLeft(ctx, started, s.env.Now()) {
			failed = append(failed, runAll(ctx, s.env, []*delivery{alone}, s.work)...)
		} else {
			sentBack = append(sentBack, alone)
		}
	}
	for _, d := range sentBack {
		s.log.WarnContext(ctx, "wake-up sent back to run alone", d.attrs()...)
	}
	failed = append(failed, sentBack...)
	b.logResult(ctx, s.log, "step batch", len(failed))
	return itemFailures(failed)
}

// work reports whether the delivery is done with.
func (s stepper) work(ctx context.Context, d *delivery) bool {
	err := env.Protect(func() error { return s.worker.Work(ctx, d.wake) })
	if err == nil {
		return true
	}
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelWarn // the host is stopping; the wake-up comes again
	}
	s.log.Log(ctx, level, "step of a wake-up failed", append(d.attrs(), errorAttrs(err)...)...)
	return false
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

// wholeLeft reports whether at least nine tenths of the time that ctx had at
// started are left at now.
func wholeLeft(ctx context.Context, started, now time.Time) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(now) >= deadline.Sub(started)/10*9
}

func orSystem(e *env.Env) *env.Env {
	if e == nil {
		return env.System()
	}
	return e
}

func orDefault(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.Default()
	}
	return l
}

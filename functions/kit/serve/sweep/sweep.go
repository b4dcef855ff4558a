// Package sweep is the scheduled repair as a library. It is a package of its own
// because it links neither agents nor tools: it looks at heads alone.
package sweep

import (
	"context"
	"encoding/json"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
)

// Main serves the schedule: it wakes threads that nobody woke, and looks after
// wake-ups that ended in the dead-letter queue, which it receives itself. It takes
// batches of that queue, too, if a mapping sends them. What is wrong with the
// environment ends the process at start.
func Main() {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	o, err := configure(c)
	if err != nil {
		log.Fatal(err)
	}
	box, err := mailbox.New(o)
	if err != nil {
		log.Fatal(err)
	}
	handlers, repair := awslambda.Handlers{Env: c.Env, Logger: c.Logger}, repair{box, c}
	sweep := handlers.Sweep(repair.sweep, box.Rewake, nil)
	if c.DeadLetters != nil {
		sweep = handlers.Sweep(repair.sweep, box.Rewake, c.DeadLetters)
	}
	dead := handlers.DeadLetters(box.Rewake)
	lambda.Start(func(ctx context.Context, event json.RawMessage) (any, error) {
		var batch events.SQSEvent
		if json.Unmarshal(event, &batch) == nil && len(batch.Records) > 0 {
			return dead(ctx, batch)
		}
		return sweep(ctx, event)
	})
}

// configure is what the function gives its mailbox. Its test holds each promise of the
// documents that is a line here.
func configure(c *cloud.Function) (mailbox.Options, error) {
	tenants, err := limits.Read(c.Settings)
	if err != nil {
		return mailbox.Options{}, err
	}
	return mailbox.Options{Env: c.Env, Store: c.Store, Waker: c.Queue, Logger: c.Logger, KeepUsage: c.Settings.UsageKeep, Limits: tenants}, nil
}

// repair is a sweep, and behind it a part of the sums of what was used.
type repair struct {
	box *mailbox.Service
	c   *cloud.Function
}

// sumTime is how long one sweep may sum: the next goes on.
const sumTime = 15 * time.Second

// sweep wakes threads, and sums. A sum that fails is no failure of the sweep: its
// hour stays marked, and reports read its records.
func (r repair) sweep(ctx context.Context) (woken int, err error) {
	woken, err = r.box.Sweep(ctx)
	summed, failed := r.box.SumUsage(ctx, r.c.Env.Now().Add(sumTime))
	if failed != nil && ctx.Err() == nil {
		r.c.Logger.ErrorContext(ctx, "hours of usage could not be summed, a later sweep tries again", "summed", summed, "error", failed)
	}
	return woken, err
}

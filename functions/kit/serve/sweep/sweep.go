// Package sweep has the scheduled repair, as a library. It is separate, because it links
// neither agents nor tools: it reads only heads.
package sweep

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/limits"
)

// Main serves the schedule. It wakes threads whose wake-up was lost, and processes the
// wake-ups in the dead-letter queue. It receives from that queue itself, and also takes
// batches of it from an event source mapping. A mistake in the environment ends the process
// at start.
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
	lines := emf.New(os.Stdout, emf.Options{Stack: c.Settings.Stack, Function: "sweep", Now: c.Env.Now})
	handlers, repair := awslambda.Handlers{Env: c.Env, Logger: c.Logger}, repair{box, c, lines}
	sweep := handlers.Sweep(repair.sweep, repair.rewake, nil)
	if c.DeadLetters != nil {
		sweep = handlers.Sweep(repair.sweep, repair.rewake, c.DeadLetters)
	}
	dead := handlers.DeadLetters(repair.rewake)
	lambda.Start(func(ctx context.Context, event json.RawMessage) (any, error) {
		var batch events.SQSEvent
		if json.Unmarshal(event, &batch) == nil && len(batch.Records) > 0 {
			return dead(ctx, batch)
		}
		return sweep(ctx, event)
	})
}

// configure returns the options of the mailbox. Its test checks each line that a document
// promises.
func configure(c *cloud.Function) (mailbox.Options, error) {
	tenants, err := limits.Read(c.Settings)
	if err != nil {
		return mailbox.Options{}, err
	}
	return mailbox.Options{Env: c.Env, Store: c.Store, Waker: c.Queue, Logger: c.Logger, KeepUsage: c.Settings.UsageKeep, Limits: tenants}, nil
}

// repair is a sweep, followed by a part of the sums of usage.
type repair struct {
	box   *mailbox.Service
	c     *cloud.Function
	lines *emf.Writer
}

// rewake handles a wake-up of the dead-letter queue and writes its line. A thread that cannot
// be read has a line each time that its wake-up returns from the queue.
func (r repair) rewake(ctx context.Context, hint core.WakeUp) (woken bool, err error) {
	woken, err = r.box.Rewake(ctx, hint)
	r.lines.DeadWakeUp(hint, woken)
	return woken, err
}

// sumTime is the time that one sweep has to sum usage. The next sweep continues.
const sumTime = 15 * time.Second

// sweep wakes threads and sums usage. A failed sum is not a failure of the sweep: its hour
// remains marked, and reports read the records of that hour.
func (r repair) sweep(ctx context.Context) (woken int, err error) {
	woken, err = r.box.Sweep(ctx)
	summed, failed := r.box.SumUsage(ctx, r.c.Env.Now().Add(sumTime))
	if failed != nil && ctx.Err() == nil {
		r.c.Logger.ErrorContext(ctx, "usage not summed, retry in the next sweep", "summed", summed, "error", failed)
	}
	return woken, err
}

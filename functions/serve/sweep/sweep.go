// Package sweep is the scheduled repair as a library. It is a package of its own
// because it links neither agents nor tools: it looks at heads alone.
package sweep

import (
	"context"
	"encoding/json"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/serve/cloud"
)

// Main serves two events: the schedule's, which wakes threads that nobody woke,
// and the dead-letter queue's, which looks after wake-ups that ended there. What
// is wrong with the environment ends the process at start.
func Main() {
	c, err := cloud.Open()
	if err != nil {
		log.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Options{Env: c.Env, Store: c.Store, Waker: c.Queue, Logger: c.Logger})
	if err != nil {
		log.Fatal(err)
	}
	sweep := awslambda.SweepHandler(awslambda.SweepOptions{Sweeper: box, Env: c.Env, Logger: c.Logger})
	dead := awslambda.DeadLetterHandler(awslambda.DeadLetterOptions{Unfinished: box, Env: c.Env, Logger: c.Logger})
	lambda.Start(func(ctx context.Context, event json.RawMessage) (any, error) {
		var batch events.SQSEvent
		if json.Unmarshal(event, &batch) == nil && len(batch.Records) > 0 {
			return dead(ctx, batch)
		}
		return sweep(ctx, event)
	})
}

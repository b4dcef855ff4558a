// Command sweep repairs: every minute it wakes threads that nobody woke, and it
// looks after wake-ups that ended in the dead-letter queue.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reveille-run/reveille/adapters/awslambda"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/functions/serve"
)

func main() {
	c, err := serve.Open()
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

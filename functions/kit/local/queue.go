package local

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
)

// The constants of the queue, as SQS and its event source mapping have them.
const (
	batchSize   = 10
	concurrent  = 16 // concurrent batches
	maxReceives = 5
	retryDelay  = time.Second // a failed message is delivered again after this times its receives
)

type batchHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// queue is the transport of the mailbox in one process: it delivers the hints of core's
// queue to the step handler as batches of SQS events. Its hints are lost with the process,
// and the sweep at the next start finds the work.
type queue struct {
	env    *env.Env
	log    *slog.Logger
	hints  *host.Queue
	closed atomic.Bool // run has ended: no further hint is delivered
}

func newQueue(e *env.Env, log *slog.Logger) *queue {
	return &queue{env: e, log: log, hints: host.NewQueue(e)}
}

// Wake implements mailbox.Waker.
func (q *queue) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	if q.closed.Load() {
		return nil
	}
	return q.hints.Wake(ctx, hint, delay)
}

// run delivers until ctx is done, then waits for the batches that are still processed.
func (q *queue) run(ctx context.Context, step, dead batchHandler) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, concurrent)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case slots <- struct{}{}: // first: what waits for a slot stays in the queue
		}
		batch := q.hints.Receive(ctx, batchSize)
		if len(batch) == 0 {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			q.deliver(ctx, batch, step, dead)
		})
	}
	q.closed.Store(true)
	wait.Wait()
}

// deliver invokes the handler with a batch. A message that failed is delivered again later.
// After maxReceives it goes to the dead-letter handler.
func (q *queue) deliver(ctx context.Context, batch []host.Delivery, step, dead batchHandler) {
	done := q.env.Reach(killpoints.Receive)
	event := events.SQSEvent{Records: make([]events.SQSMessage, len(batch))}
	for i, d := range batch {
		event.Records[i] = message(d)
	}
	done()
	failed := q.invoke(ctx, step, event)
	done = q.env.Reach(killpoints.DeleteMessage)
	for i, d := range batch {
		switch {
		case !failed[event.Records[i].MessageId]:
		case d.Receives < maxReceives:
			q.hints.Return(d, retryDelay*time.Duration(d.Receives))
		default:
			q.invoke(ctx, dead, events.SQSEvent{Records: event.Records[i : i+1]})
		}
	}
	done()
}

// invoke returns the ids of the messages that failed.
func (q *queue) invoke(ctx context.Context, handler batchHandler, event events.SQSEvent) map[string]bool {
	failed := make(map[string]bool)
	response, err := handler(ctx, event)
	if err != nil {
		q.log.Error("batch failed", "error", err)
		for _, r := range event.Records {
			failed[r.MessageId] = true
		}
	}
	for _, f := range response.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	return failed
}

// message returns a hint as SQS delivers it.
func message(d host.Delivery) events.SQSMessage {
	body, _ := json.Marshal(d.Hint) // strings, numbers and an id
	return events.SQSMessage{
		MessageId: strconv.Itoa(d.ID), Body: string(body), EventSource: "aws:sqs",
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Receives)},
	}
}

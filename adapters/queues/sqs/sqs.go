package sqs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// maxDelay is the longest that SQS holds a message back. Longer waits are the
// sweeper's: a hint that comes early finds future work and is sent again.
const maxDelay = 15 * time.Minute

// batchSize is how many entries one batch request may have.
const batchSize = 10

// Queue is one SQS queue of wake-ups. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    *string
}

// New returns the queue at a URL.
func New(client *sqs.Client, queueURL string) *Queue {
	return &Queue{client: client, url: aws.String(queueURL)}
}

// Wake sends a hint that becomes visible after delay, which is rounded up to the second
// and limited to 15 minutes. After an error it may have been sent anyway; sending it
// again does no harm.
func (q *Queue) Wake(ctx context.Context, w core.WakeUp, delay time.Duration) error {
	body, err := encode(w)
	if err != nil {
		return err
	}
	_, err = q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl:       q.url,
		MessageBody:    aws.String(body),
		DelaySeconds:   delaySeconds(delay),
		MessageGroupId: aws.String(w.Tenant),
	})
	if err != nil {
		return outcome(fmt.Sprintf("send wake-up of %s", w.Key()), err)
	}
	if m := store.MeterOf(ctx); m.Of(w.Key()) {
		m.Add(core.Spent{Queue: request})
	}
	return nil
}

// WakeTwice sends a hint that becomes visible after delay, and once more after second, in one
// request. Both are rounded and limited as in [Queue.Wake]. After an error one of them may have
// been sent, or both.
func (q *Queue) WakeTwice(ctx context.Context, w core.WakeUp, delay, second time.Duration) error {
	return q.sendBatch(ctx, []core.WakeUp{w, w}, []time.Duration{delay, second})
}

// request is what a meter counts a request as.
const request = 100

// WakeBatch sends many hints, ten a request. Hints that the queue refuses are sent once
// more. If some are still not sent, the error joins the errors of all of them, has the
// code of the first, and has a method Failed() int that returns their number. An invalid
// hint is reported in the same way, without being sent.
func (q *Queue) WakeBatch(ctx context.Context, ws []core.WakeUp, delay time.Duration) error {
	return q.sendBatch(ctx, ws, slices.Repeat([]time.Duration{delay}, len(ws)))
}

// sendBatch sends each hint with its delay. A request is charged to a meter if all of its hints
// are of the meter's thread.
func (q *Queue) sendBatch(ctx context.Context, ws []core.WakeUp, delays []time.Duration) error {
	var failed []failure
	entries := make([]types.SendMessageBatchRequestEntry, 0, len(ws))
	for i, w := range ws {
		body, err := encode(w)
		if err != nil {
			failed = append(failed, failure{Index: i, Err: err})
			continue
		}
		entries = append(entries, types.SendMessageBatchRequestEntry{
			Id:             aws.String(strconv.Itoa(i)),
			MessageBody:    aws.String(body),
			DelaySeconds:   delaySeconds(delays[i]),
			MessageGroupId: aws.String(w.Tenant),
		})
	}
	send := func(ctx context.Context, batch []types.SendMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q.url, Entries: batch})
		if err != nil {
			return nil, outcome("send wake-ups", err)
		}
		if m := store.MeterOf(ctx); m.Of(ws[0].Key()) {
			m.Add(core.Spent{Queue: request})
		}
		return out.Failed, nil
	}
	id := func(e types.SendMessageBatchRequestEntry) string { return *e.Id }
	return batchError("send wake-ups", append(failed, inBatches(ctx, entries, id, send)...))
}

// delaySeconds rounds up, so that no hint comes before its time.
func delaySeconds(delay time.Duration) int32 {
	delay = min(max(delay, 0), maxDelay)
	return int32((delay + time.Second - 1) / time.Second)
}

package sqs

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxWait is the longest that SQS lets a receive wait.
const maxWait = 20 * time.Second

// Receive waits up to wait (rounded up to the second, at most 20 s) for 1 to max
// messages, at most 10. If there is no message in that time, the response is empty. A
// message stays hidden for the queue's visibility timeout. Messages have the same form as
// in a Lambda function's event. Any sender may choose the group of a message.
func (q *Queue) Receive(ctx context.Context, max int, wait time.Duration) ([]events.SQSMessage, error) {
	wait = min(wait, maxWait)
	seconds := delaySeconds(wait)
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    q.url,
		MaxNumberOfMessages:         int32(min(batchSize, max)),
		WaitTimeSeconds:             seconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}, longPoll(seconds))
	if err != nil {
		return nil, outcome("receive wake-ups", err)
	}
	messages := make([]events.SQSMessage, len(out.Messages))
	for i, m := range out.Messages {
		messages[i] = events.SQSMessage{
			MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body), Attributes: m.Attributes,
		}
	}
	return messages, nil
}

// Delete removes deliveries by their receipts, ten a request. Deliveries that the queue
// refuses are tried once more and then reported as in [Queue.WakeBatch].
func (q *Queue) Delete(ctx context.Context, receipts []string) error {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
	for i, receipt := range receipts {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(receipt)}
	}
	send := func(ctx context.Context, batch []types.DeleteMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
		out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url, Entries: batch})
		if err != nil {
			return nil, outcome("delete wake-ups", err)
		}
		return out.Failed, nil
	}
	id := func(e types.DeleteMessageBatchRequestEntry) string { return *e.Id }
	return batchError("delete wake-ups", inBatches(ctx, entries, id, send))
}

// ChangeVisibility hides a delivery for a time from now on, rounded up to the second; 0
// makes it visible immediately.
func (q *Queue) ChangeVisibility(ctx context.Context, receipt string, hidden time.Duration) error {
	hidden = min(max(hidden, 0), 12*time.Hour)
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          q.url,
		ReceiptHandle:     aws.String(receipt),
		VisibilityTimeout: int32((hidden + time.Second - 1) / time.Second),
	})
	if err != nil {
		return outcome("change visibility of a wake-up", err)
	}
	return nil
}

// longPoll gives one call the time that it waits on top of the client's own
// timeout.
func longPoll(seconds int32) func(*sqs.Options) {
	return func(o *sqs.Options) {
		if c, ok := o.HTTPClient.(*http.Client); ok && c.Timeout > 0 {
			patient := *c
			patient.Timeout += time.Duration(seconds) * time.Second
			o.HTTPClient = &patient
		}
	}
}

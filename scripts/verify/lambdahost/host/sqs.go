package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Message is a message that was received from a queue.
type Message struct {
	ID         string
	Receipt    string
	Body       string
	Attributes map[string]string // ApproximateReceiveCount, SentTimestamp, MessageGroupId...
}

// Queue is an SQS queue.
type Queue interface {
	// Receive returns 1 to max messages, which stay invisible to others for the
	// queue's visibility timeout, or none when wait has passed.
	Receive(ctx context.Context, max int, wait time.Duration) ([]Message, error)
	// Delete removes messages.
	Delete(ctx context.Context, receipts []string) error
	// ChangeVisibility makes messages visible again after d.
	ChangeVisibility(ctx context.Context, receipts []string, d time.Duration) error
}

// Poller is an event source mapping: it feeds a function from a queue.
type Poller struct {
	Host      *Host  // required
	Queue     Queue  // required
	Function  string // required
	QueueName string // in the events; "": "queue"
	BatchSize int    // 0: 10
	// Wait is how long a Receive waits for a message. 0: 20 s.
	Wait time.Duration
	// Concurrency is how many batches are under way at most. 0: 2, the least
	// that AWS allows.
	Concurrency int
	// RetryAfter, if set, makes failed messages visible again after that time.
	// nil: after the queue's visibility timeout, as AWS does it.
	RetryAfter *time.Duration
	// NoItemFailures switches ReportBatchItemFailures off: a batch whose
	// invocation succeeds is deleted without regard to its result.
	NoItemFailures bool
}

// Run polls until ctx ends, then waits for the batches that are under way and
// returns nil, or until the queue cannot be read, with that error.
func (p Poller) Run(ctx context.Context) error {
	n := p.Concurrency
	if n <= 0 {
		n = 2
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan error, n)
	for range n {
		go func() { results <- p.loop(ctx) }()
	}
	var first error
	for range n {
		if err := <-results; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

func (p Poller) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := p.Poll(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// Poll handles one batch, if there is one, and returns how many of its messages
// are done with. A batch that was received is finished even when ctx ends. The
// error is that of Receive; everything later only makes messages come again,
// and is logged.
func (p Poller) Poll(ctx context.Context) (done int, err error) {
	size, wait := p.BatchSize, p.Wait
	if size <= 0 {
		size = 10
	}
	if wait <= 0 {
		wait = 20 * time.Second
	}
	messages, err := p.Queue.Receive(ctx, size, wait)
	if err != nil {
		return 0, fmt.Errorf("receive: %w", err)
	}
	if len(messages) == 0 {
		return 0, nil
	}
	ctx = context.WithoutCancel(ctx)
	good, bad := p.invoke(ctx, messages)
	if len(good) > 0 {
		if err := p.Queue.Delete(ctx, good); err != nil {
			p.Host.log.Warn("messages not deleted", "function", p.Function, "error", err)
		}
	}
	if len(bad) > 0 && p.RetryAfter != nil {
		if err := p.Queue.ChangeVisibility(ctx, bad, *p.RetryAfter); err != nil {
			p.Host.log.Warn("visibility not changed", "function", p.Function, "error", err)
		}
	}
	return len(good), nil
}

// invoke returns the receipts of the messages that are done with, and of those
// that are to come again.
func (p Poller) invoke(ctx context.Context, messages []Message) (good, bad []string) {
	event, _ := json.Marshal(p.event(messages)) // strings only
	result, err := p.Host.Invoke(ctx, p.Function, event)
	failed := map[string]bool{}
	if err == nil && !p.NoItemFailures {
		failed, err = itemFailures(result.Payload, messages)
	}
	if err != nil {
		p.Host.log.Warn("batch failed", "function", p.Function, "messages", len(messages), "error", err)
	}
	for _, m := range messages {
		if err != nil || failed[m.ID] {
			bad = append(bad, m.Receipt)
		} else {
			good = append(good, m.Receipt)
		}
	}
	return good, bad
}

func (p Poller) event(messages []Message) events.SQSEvent {
	name := p.QueueName
	if name == "" {
		name = "queue"
	}
	event := events.SQSEvent{Records: []events.SQSMessage{}}
	for _, m := range messages {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: m.ID, ReceiptHandle: m.Receipt, Body: m.Body, Attributes: m.Attributes,
			MessageAttributes: map[string]events.SQSMessageAttribute{},
			EventSource:       "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:" + account + ":" + name, AWSRegion: "us-east-1",
		})
	}
	return event
}

// itemFailures reads a batch response by AWS's rules: nothing, null or an empty
// list is a success of all; what is malformed, or names an unknown message, is a
// failure of all.
func itemFailures(payload []byte, messages []Message) (map[string]bool, error) {
	failed := map[string]bool{}
	if len(payload) == 0 {
		return failed, nil
	}
	var response struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(payload, &response); err != nil {
		return nil, fmt.Errorf("batch response: %w", err)
	}
	known := map[string]bool{}
	for _, m := range messages {
		known[m.ID] = true
	}
	for _, item := range response.BatchItemFailures {
		if !known[item.ItemIdentifier] {
			return nil, fmt.Errorf("batch response: item identifier %q is not of this batch", item.ItemIdentifier)
		}
		failed[item.ItemIdentifier] = true
	}
	return failed, nil
}

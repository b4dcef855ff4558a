package lambda

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// deadLetterQueue is the dead-letter queue of the mailbox, which a sweep drains.
type deadLetterQueue interface {
	// Receive waits up to wait for 1 to most messages, at most 10, and hides each of them
	// for some minutes. If there is no message in that time, the response is empty.
	Receive(ctx context.Context, most int, wait time.Duration) ([]events.SQSMessage, error)
	// Delete removes messages by their receipts. A message that it could not remove is
	// delivered again.
	Delete(ctx context.Context, receipts []string) error
}

const (
	// drainBatch is how many messages are received at a time.
	drainBatch = 10
	// furtherWait is how long a receive waits after one that found messages. The first
	// does not wait: nearly always there is nothing, and waiting is billed. It may
	// overlook a message, which the next sweep finds.
	furtherWait = time.Second
)

// drain does the work of an event source mapping to [Handlers.DeadLetters], which would
// poll the empty queue all the time. It receives until the queue is empty or receiving
// ends, and returns the number of removed messages. Work that has started by then is
// finished under work, which lasts longer. A batch of which no message could be handled
// also ends it: receiving more would only hide more. Errors are those of the queue; a
// message that was not deleted is delivered again.
func (l letters) drain(receiving, work context.Context, queue deadLetterQueue) (gone int, err error) {
	for wait := time.Duration(0); receiving.Err() == nil; wait = furtherWait {
		messages, err := queue.Receive(work, drainBatch, wait) // one that is broken off may hide messages
		if err != nil {
			return gone, fmt.Errorf("receive dead letters: %w", err)
		}
		done := receipts(messages, l.handle(work, events.SQSEvent{Records: messages}))
		if len(done) == 0 {
			return gone, nil
		}
		if err := queue.Delete(work, done); err != nil {
			return gone, fmt.Errorf("delete dead letters: %w", err)
		}
		gone += len(done)
	}
	return gone, nil
}

// receipts are those of the messages that did not fail.
func receipts(messages []events.SQSMessage, failed []*delivery) (done []string) {
	kept := map[string]bool{}
	for _, d := range failed {
		for _, id := range d.messages {
			kept[id] = true
		}
	}
	for _, m := range messages {
		if !kept[m.MessageId] {
			done = append(done, m.ReceiptHandle)
		}
	}
	return done
}

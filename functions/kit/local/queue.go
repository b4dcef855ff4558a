package local

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// The queue's habits, as SQS and its event source mapping have them.
const (
	batchSize   = 10
	concurrent  = 16 // batches under way
	maxReceives = 5
	retryDelay  = time.Second // a failed message comes back after this times its receives
)

type batchHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// queue is the mailbox's transport in one process: it delivers wake-ups to the
// step handler as batches of SQS events. What it holds is lost with the process;
// the sweep at the next start finds the work.
type queue struct {
	env *env.Env
	log *slog.Logger

	mu     sync.Mutex
	ready  []message
	signal chan struct{} // capacity 1: something is ready
	timers map[*time.Timer]struct{}
	serial int
	closed bool
}

type message struct {
	id       string
	body     string
	receives int
	since    time.Time // when it became ready
}

func newQueue(e *env.Env, log *slog.Logger) *queue {
	return &queue{env: e, log: log, signal: make(chan struct{}, 1), timers: make(map[*time.Timer]struct{})}
}

// Wake implements mailbox.Waker.
func (q *queue) Wake(_ context.Context, hint core.WakeUp, delay time.Duration) error {
	body, err := json.Marshal(hint)
	if err != nil {
		return fmt.Errorf("encode wake-up: %w", err)
	}
	q.mu.Lock()
	q.serial++
	m := message{id: strconv.Itoa(q.serial), body: string(body)}
	q.mu.Unlock()
	q.push(m, delay)
	return nil
}

// push makes a message ready after the delay.
func (q *queue) push(m message, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if delay <= 0 {
		q.add(m)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if _, pending := q.timers[timer]; pending {
			delete(q.timers, timer)
			q.add(m)
		}
	})
	q.timers[timer] = struct{}{}
}

// add makes a message ready; the caller holds mu.
func (q *queue) add(m message) {
	m.since = q.env.Now()
	q.ready = append(q.ready, m)
	q.notify()
}

// depth is how many messages are ready, how many are not yet, and for how long the
// oldest of the ready ones has waited. They are in the order in which they became so.
func (q *queue) depth() (ready, delayed int, oldest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) > 0 {
		oldest = q.env.Now().Sub(q.ready[0].since)
	}
	return len(q.ready), len(q.timers), oldest
}

func (q *queue) notify() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// take returns the next batch; nil when nothing is ready.
func (q *queue) take() []message {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(batchSize, len(q.ready))
	batch := append([]message(nil), q.ready[:n]...)
	q.ready = q.ready[n:]
	if len(q.ready) > 0 {
		q.notify()
	}
	return batch
}

// run delivers until ctx is done, then waits for what is under way.
func (q *queue) run(ctx context.Context, step, dead batchHandler) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, concurrent)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-q.signal:
		}
		batch := q.take()
		if len(batch) == 0 {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			q.deliver(ctx, batch, step, dead)
		})
	}
	q.mu.Lock()
	q.closed = true
	for timer := range q.timers {
		timer.Stop()
	}
	q.mu.Unlock()
	wait.Wait()
}

// deliver invokes the handler with a batch; what it reports as failed comes
// back later, and after maxReceives goes to the dead-letter handler.
func (q *queue) deliver(ctx context.Context, batch []message, step, dead batchHandler) {
	q.env.Reach(env.PointReceive, env.Before)
	event := events.SQSEvent{}
	for i := range batch {
		batch[i].receives++
		event.Records = append(event.Records, batch[i].event())
	}
	q.env.Reach(env.PointReceive, env.After)
	failed := q.invoke(ctx, step, event)
	q.env.Reach(env.PointDeleteMessage, env.Before)
	for _, m := range batch {
		switch {
		case !failed[m.id]:
		case m.receives < maxReceives:
			q.push(m, retryDelay*time.Duration(m.receives))
		default:
			q.invoke(ctx, dead, events.SQSEvent{Records: []events.SQSMessage{m.event()}})
		}
	}
	q.env.Reach(env.PointDeleteMessage, env.After)
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

func (m message) event() events.SQSMessage {
	return events.SQSMessage{
		MessageId: m.id, Body: m.body, EventSource: "aws:sqs",
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)},
	}
}

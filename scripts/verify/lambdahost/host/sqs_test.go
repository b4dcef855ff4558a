package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memoryQueue is a Queue. A message that was received is invisible until its
// visibility is changed.
type memoryQueue struct {
	mu       sync.Mutex
	messages []*queued
	arrived  chan struct{} // after each change
}

type queued struct {
	id, body string
	receives int
	taken    bool
}

func newMemoryQueue(bodies ...string) *memoryQueue {
	q := &memoryQueue{arrived: make(chan struct{}, 100)}
	for i, body := range bodies {
		q.messages = append(q.messages, &queued{id: fmt.Sprintf("m%d", i+1), body: body})
	}
	return q
}

func (q *memoryQueue) Receive(ctx context.Context, max int, _ time.Duration) ([]Message, error) {
	for {
		if batch := q.take(max); len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-q.arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *memoryQueue) take(max int) []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []Message
	for _, m := range q.messages {
		if !m.taken && len(batch) < max {
			m.taken = true
			m.receives++
			batch = append(batch, Message{ID: m.id, Receipt: m.id, Body: m.body, Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)}})
		}
	}
	return batch
}

func (q *memoryQueue) Delete(_ context.Context, receipts []string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = slices.DeleteFunc(q.messages, func(m *queued) bool { return slices.Contains(receipts, m.id) })
	q.arrived <- struct{}{}
	return nil
}

func (q *memoryQueue) ChangeVisibility(_ context.Context, receipts []string, _ time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if slices.Contains(receipts, m.id) {
			m.taken = false
		}
	}
	q.arrived <- struct{}{}
	return nil
}

func (q *memoryQueue) left() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := []string{}
	for _, m := range q.messages {
		left = append(left, m.id)
	}
	return left
}

func wake(thread string) string { return `{"tenant":"acme","thread":"` + thread + `"}` }

func TestPollerDeletesOnlyTheSuccesses(t *testing.T) {
	h := newHost(t, function("step"), function("event"), function("exit"))
	tests := []struct {
		name   string
		poller Poller
		bodies []string
		want   []string
	}{
		{"all good", Poller{Function: "step"}, []string{wake("a"), wake("b")}, []string{}},
		{"two of four fail", Poller{Function: "step"}, []string{wake("a"), wake("bad1"), wake("b"), wake("bad2")}, []string{"m2", "m4"}},
		{"without ReportBatchItemFailures", Poller{Function: "step", NoItemFailures: true}, []string{wake("bad1")}, []string{}},
		{"a batch of two", Poller{Function: "step", BatchSize: 2}, []string{wake("a"), wake("b"), wake("c")}, []string{"m3"}},
		{"a malformed response", Poller{Function: "event"}, []string{wake("a")}, []string{"m1"}},
		{"a crash", Poller{Function: "exit"}, []string{wake("a"), wake("b")}, []string{"m1", "m2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			queue := newMemoryQueue(tt.bodies...)
			tt.poller.Host, tt.poller.Queue = h, queue
			done, err := tt.poller.Poll(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, queue.left()); diff != "" {
				t.Error(diff)
			}
			if done != len(tt.bodies)-len(tt.want) {
				t.Errorf("done = %d", done)
			}
		})
	}
}

// The poller is stopped when the bad thread's message was received three times.
func TestPollerRunsUntilItsContextEnds(t *testing.T) {
	h := newHost(t, function("step"))
	queue := newMemoryQueue(wake("a"), wake("b"), wake("bad"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	counting := countingQueue{memoryQueue: queue, stop: func() {
		if bad := queue.messages[len(queue.messages)-1]; bad.receives >= 3 {
			cancel()
		}
	}}
	now := time.Duration(0)
	poller := Poller{Host: h, Queue: counting, Function: "step", RetryAfter: &now}
	if err := poller.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m3"}, queue.left()); diff != "" {
		t.Error(diff)
	}
}

// countingQueue calls stop after each change of visibility.
type countingQueue struct {
	*memoryQueue
	stop func()
}

func (q countingQueue) ChangeVisibility(ctx context.Context, receipts []string, d time.Duration) error {
	err := q.memoryQueue.ChangeVisibility(ctx, receipts, d)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stop()
	return err
}

// deadQueue is a Queue that cannot be reached.
type deadQueue struct{ memoryQueue }

func (*deadQueue) Receive(context.Context, int, time.Duration) ([]Message, error) {
	return nil, errors.New("no route to host")
}

func TestPollerStopsWhenItsQueueFails(t *testing.T) {
	h := newHost(t, function("step"))
	err := Poller{Host: h, Queue: &deadQueue{}, Function: "step"}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "receive: no route to host") {
		t.Error(err)
	}
}

func TestBatchResponses(t *testing.T) {
	batch := []Message{{ID: "m1"}, {ID: "m2"}}
	tests := []struct {
		name, payload string
		want          map[string]bool
		wantErr       string
	}{
		{"empty", ``, map[string]bool{}, ""},
		{"null", `null`, map[string]bool{}, ""},
		{"an empty object", `{}`, map[string]bool{}, ""},
		{"a null list", `{"batchItemFailures":null}`, map[string]bool{}, ""},
		{"an empty list", `{"batchItemFailures":[]}`, map[string]bool{}, ""},
		{"one", `{"batchItemFailures":[{"itemIdentifier":"m2"}]}`, map[string]bool{"m2": true}, ""},
		{"no JSON", `hello`, nil, "batch response: invalid character 'h' looking for beginning of value"},
		{"an empty identifier", `{"batchItemFailures":[{"itemIdentifier":""}]}`, nil, `batch response: item identifier "" is not of this batch`},
		{"a null identifier", `{"batchItemFailures":[{"itemIdentifier":null}]}`, nil, `batch response: item identifier "" is not of this batch`},
		{"a bad key", `{"batchItemFailures":[{"id":"m1"}]}`, nil, `batch response: item identifier "" is not of this batch`},
		{"an unknown identifier", `{"batchItemFailures":[{"itemIdentifier":"m3"}]}`, nil, `batch response: item identifier "m3" is not of this batch`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := itemFailures([]byte(tt.payload), batch)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tt.wantErr || err == nil && tt.wantErr != "" {
				t.Errorf("error = %v", err)
			}
		})
	}
}

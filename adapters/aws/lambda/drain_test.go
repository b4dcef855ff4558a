package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// letterBox is a DeadLetterQueue whose receives take a time and hide messages for good.
type letterBox struct {
	takes                   time.Duration
	receiveFails, deleteErr error

	mu      sync.Mutex
	visible []events.SQSMessage
	deleted []string
	waits   []time.Duration
}

func (b *letterBox) Receive(ctx context.Context, most int, wait time.Duration) ([]events.SQSMessage, error) {
	if b.takes > 0 {
		time.Sleep(b.takes)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = append(b.waits, wait)
	if err := errors.Join(ctx.Err(), b.receiveFails); err != nil {
		return nil, err
	}
	n := min(most, len(b.visible))
	some := b.visible[:n]
	b.visible = b.visible[n:]
	return some, nil
}

func (b *letterBox) Delete(ctx context.Context, receipts []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.deleted = append(b.deleted, receipts...)
	return b.deleteErr
}

// put adds a message of each thread.
func (b *letterBox) put(threads ...string) *letterBox {
	for _, thread := range threads {
		m := message(fmt.Sprint("m", len(b.visible)), thread, 1)
		m.ReceiptHandle = fmt.Sprint("r", len(b.visible))
		b.visible = append(b.visible, m)
	}
	return b
}

// many are the names of n threads.
func many(n int) (threads []string) {
	for i := range n {
		threads = append(threads, fmt.Sprint("t", i))
	}
	return threads
}

func idle(context.Context) (int, error) { return 0, nil }

// byThread cannot look at threads that are called unreadable, nor at bug.
func byThread(_ context.Context, w core.WakeUp) (bool, error) {
	switch w.Thread {
	case "unreadable":
		return false, errors.New("throttled")
	case "bug":
		panic("bug")
	}
	return true, nil
}

func TestASweepDrainsTheDeadLetterQueue(t *testing.T) {
	tests := []struct {
		name    string
		box     *letterBox
		deleted []string
		waits   []time.Duration // of each receive
		left    int             // that no receive has hidden
		result  sweepResult
		wantErr string
	}{
		{"nothing there", &letterBox{}, nil, []time.Duration{0}, 0, sweepResult{}, ""},
		{"some, and looks again", (&letterBox{}).put("a", "b"), []string{"r0", "r1"}, []time.Duration{0, time.Second}, 0, sweepResult{Dead: 2}, ""},
		{"what could not be looked at stays", (&letterBox{}).put("a", "unreadable", "bug", "b"), []string{"r0", "r3"}, []time.Duration{0, time.Second}, 0, sweepResult{Dead: 2}, ""},
		{"a batch of which nothing could be looked at is the last", (&letterBox{}).put(append(make10("unreadable"), "a")...), nil, []time.Duration{0}, 1, sweepResult{}, ""},
		{"the queue cannot be read", &letterBox{receiveFails: errors.New("denied")}, nil, []time.Duration{0}, 0, sweepResult{}, "sweep: receive dead letters: denied"},
		{"the queue keeps what was deleted", (&letterBox{deleteErr: errors.New("denied")}).put("a"), []string{"r0"}, []time.Duration{0}, 0, sweepResult{}, "sweep: delete dead letters: denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := Handlers{Logger: quiet}.Sweep(idle, byThread, tt.box)
			got, err := swept(handle(t.Context(), nil))
			if got != tt.result || errorText(err) != tt.wantErr {
				t.Errorf("%+v, %v, want %+v, %q", got, err, tt.result, tt.wantErr)
			}
			if diff := cmp.Diff(tt.deleted, tt.box.deleted); diff != "" {
				t.Errorf("deleted: %s", diff)
			}
			if diff := cmp.Diff(tt.waits, tt.box.waits); diff != "" {
				t.Errorf("waits of the receives: %s", diff)
			}
			if len(tt.box.visible) != tt.left {
				t.Errorf("%d messages were not received, want %d", len(tt.box.visible), tt.left)
			}
		})
	}
}

func make10(thread string) (threads []string) {
	for range 10 {
		threads = append(threads, thread)
	}
	return threads
}

func TestWhatIsNoWakeUpIsDeletedFromTheDeadLetterQueue(t *testing.T) {
	box := &letterBox{visible: []events.SQSMessage{{MessageId: "m", ReceiptHandle: "r", Body: "garbage"}}}
	handle := Handlers{Logger: quiet}.Sweep(idle, byThread, box)
	if got, err := swept(handle(t.Context(), nil)); got.Dead != 1 || err != nil || len(box.deleted) != 1 {
		t.Errorf("%+v, %v, deleted %v", got, err, box.deleted)
	}
}

// TestTenThousandDeadLettersAreGoneInMinutes: with 50 ms for each batch a sweep of
// 60 s, less 5 s, handles all of them; with 700 ms it ends in time, having
// lost none, and 13 sweeps handle them.
func TestTenThousandDeadLettersAreGoneInMinutes(t *testing.T) {
	for takes, want := range map[time.Duration]int{50 * time.Millisecond: 10_000, 700 * time.Millisecond: 790} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := (&letterBox{takes: takes}).put(many(10_000)...)
				var woken atomic.Int32
				handle := Handlers{Logger: quiet}.Sweep(idle, func(context.Context, core.WakeUp) (bool, error) {
					woken.Add(1)
					return true, nil
				}, box)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := time.Now()
				got, err := swept(handle(ctx, nil))
				if got.Dead != want || err != nil || len(box.deleted) != want || int(woken.Load()) != want || len(box.visible) != 10_000-want {
					t.Errorf("%+v, %v; %d deleted, %d woken, %d left; want %d", got, err, len(box.deleted), woken.Load(), len(box.visible), want)
				}
				if took := time.Since(begin); took > 55*time.Second+takes {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestABatchIsFinishedInTheReserve: what was received 500 ms before a sweep's time is over
// is looked after and deleted in the time that the handler keeps for itself, and no more
// is received.
func TestABatchIsFinishedInTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := (&letterBox{takes: 500 * time.Millisecond}).put(many(1000)...)
		handle := Handlers{Logger: quiet}.Sweep(idle, func(ctx context.Context, _ core.WakeUp) (bool, error) {
			time.Sleep(700 * time.Millisecond)
			return true, ctx.Err()
		}, box)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := swept(handle(ctx, nil)); got.Dead != 460 || err != nil || len(box.deleted) != 460 || len(box.visible) != 540 {
			t.Errorf("%+v, %v; %d deleted, %d not received; want 460 and 540", got, err, len(box.deleted), len(box.visible))
		}
	})
}

// TestNeitherStarvesTheOther: a sweep that needs all its time does not keep dead
// letters from being handled, nor a full dead-letter queue the sweep from being done; and
// what fails in one does not end the other.
func TestNeitherStarvesTheOther(t *testing.T) {
	untilTheEnd := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 3, ctx.Err()
	}
	tests := []struct {
		name    string
		sweep   sweepFunc
		box     *letterBox
		want    sweepResult
		wantErr string
	}{
		{"a long sweep", untilTheEnd, (&letterBox{}).put("a", "b"), sweepResult{Woken: 3, Dead: 2}, "sweep: context deadline exceeded"},
		{"many letters", func(context.Context) (int, error) { return 4, nil }, (&letterBox{takes: 5400 * time.Millisecond}).put(many(1000)...), sweepResult{Woken: 4, Dead: 110}, ""},
		{"a sweep that panics", func(context.Context) (int, error) { panic("bug") }, (&letterBox{}).put("a"), sweepResult{Dead: 1}, "sweep: panic: bug"},
		{"a queue that cannot be read", func(context.Context) (int, error) { return 5, nil }, &letterBox{receiveFails: errors.New("denied")}, sweepResult{Woken: 5}, "sweep: receive dead letters: denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handle := Handlers{Logger: quiet}.Sweep(tt.sweep, byThread, tt.box)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got, err := swept(handle(ctx, json.RawMessage(`{}`)))
				if got != tt.want || errorText(err) != tt.wantErr {
					t.Errorf("%+v, %v, want %+v, %q", got, err, tt.want, tt.wantErr)
				}
			})
		})
	}
}

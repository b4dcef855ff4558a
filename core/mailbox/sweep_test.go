package mailbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// refusing is a queue that takes no hint.
type refusing struct{ asked int }

func (r *refusing) Wake(context.Context, core.WakeUp, time.Duration) error {
	r.asked++
	return errors.New("no queue")
}

// TestASweepSaysWhatItCouldNotWake: the sweep is the last resort, so that a hint
// which it loses is an error and does not count.
func TestASweepSaysWhatItCouldNotWake(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hello", ""))
	if woken, err := w.Sweep(t.Context()); woken != 1 || err != nil {
		t.Fatalf("woken %d, error %v", woken, err)
	}
	queue := &refusing{}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: queue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	woken, err := box.Sweep(t.Context())
	if woken != 0 || err == nil || err.Error() != "wake overdue thread t/t1: no queue" {
		t.Errorf("woken %d, error %v", woken, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	queue.asked = 0
	if woken, err = box.Sweep(over); woken != 0 || !errors.Is(err, context.Canceled) || queue.asked != 0 {
		t.Errorf("with no time left: woken %d, error %v, the queue was asked %d times", woken, err, queue.asked)
	}
}

// together is a queue that takes hints in batches, but for the last of each.
type together struct {
	refusing
	batches []int
}

type lost int

func (n lost) Error() string { return "one was refused" }
func (n lost) Failed() int   { return int(n) }

func (q *together) WakeBatch(_ context.Context, hints []core.WakeUp, _ time.Duration) error {
	q.batches = append(q.batches, len(hints))
	if len(hints) > 2 {
		return lost(1)
	}
	return nil
}

func TestASweepWakesAShardTogether(t *testing.T) {
	w := newWorld(t)
	// Four threads of shard 0, two of shard 1, one of shard 2.
	for _, id := range []string{"t0", "t13", "t26", "t39", "t18", "t32", "t6"} {
		s := input("hello", "")
		s.Thread.Thread = id
		w.submit(t, s)
	}
	queue := &together{}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: queue, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	woken, err := box.Sweep(t.Context())
	want := "wake overdue threads: one was refused\nwake overdue thread t/t6: no queue"
	if woken != 5 || err == nil || err.Error() != want {
		t.Errorf("woken %d, want 5; error %v\nwant %s", woken, err, want)
	}
	if diff := cmp.Diff([]int{4, 2}, queue.batches); diff != "" {
		t.Errorf("sizes of the batches (-want +got):\n%s", diff)
	}
}

package mailbox_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

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

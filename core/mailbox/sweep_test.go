package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
)

// The sweep is the last resort, so that a hint which it loses is an error and
// does not count.
func TestASweepSaysWhatItCouldNotWake(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hello", ""))
	if woken, err := w.Sweep(t.Context()); woken != 1 || err != nil {
		t.Fatalf("woken %d, error %v", woken, err)
	}
	queue := &mailboxtest.Queue{OnWake: refuse}
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
	asked := queue.Asked()
	if woken, err = box.Sweep(over); woken != 0 || !errors.Is(err, context.Canceled) || queue.Asked() != asked {
		t.Errorf("with no time left: woken %d, error %v, the queue was asked %d times", woken, err, queue.Asked()-asked)
	}
}

// lookout is a store that says whether nothing is due, and counts who asks for shards.
type lookout struct {
	store.Backend
	quiet  bool
	err    error
	asked  int
	shards int
}

func (l *lookout) NothingDue(context.Context) (bool, error) {
	l.asked++
	return l.quiet, l.err
}

func (l *lookout) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
	l.shards++
	return l.Backend.Overdue(ctx, shard, until, after, limit)
}

// TestASweepAsksForNoShardWhereNothingIsDue; a store that cannot tell, or fails at it, is
// asked for each.
func TestASweepAsksForNoShardWhereNothingIsDue(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hello", ""))
	tests := []struct {
		name          string
		quiet         bool
		err           error
		shards, woken int
		wantErr       string
	}{
		{"nothing", true, nil, 0, 0, ""},
		{"perhaps something", false, nil, 16, 1, ""},
		{"an error", true, errors.New("throttled"), 16, 1, "look whether a thread is due: throttled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &lookout{Backend: w.store, quiet: tt.quiet, err: tt.err}
			box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: l, Waker: &mailboxtest.Queue{}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := box.Sweep(over); !errors.Is(err, context.Canceled) || l.asked != 0 {
				t.Errorf("with no time left: %v, asked %d times", err, l.asked)
			}
			woken, err := box.Sweep(t.Context())
			if woken != tt.woken || l.shards != tt.shards || (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("woken %d, %v, after %d shards; want %d, %q, %d", woken, err, l.shards, tt.woken, tt.wantErr, tt.shards)
			}
		})
	}
}

// together is a queue that takes hints in batches, but for the last of each, and
// no single one.
type together struct {
	mailboxtest.Queue
	batches []int
}

type lost int

func (n lost) Error() string { return "one was refused" }
func (n lost) Failed() int   { return int(n) }

func (q *together) WakeBatch(_ context.Context, hints []core.WakeUp, delay time.Duration) error {
	if delay != 0 {
		return errors.New("a sweep's hints wait")
	}
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
	queue := &together{Queue: mailboxtest.Queue{OnWake: refuse}}
	outside := env.System()
	outside.Random = func(b []byte) { clear(b) } // the sweep begins at shard 0
	box, err := mailbox.New(mailbox.Options{Env: outside, Store: w.store, Waker: queue, Logger: slog.New(slog.DiscardHandler)})
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

// A sweep that looks ahead sends delayed hints for what becomes due within that time, one by one;
// what is due goes together.
func TestASweepLooksAhead(t *testing.T) {
	list := func(t *testing.T, times ...time.Duration) []store.Overdue {
		t.Helper()
		page := make([]store.Overdue, len(times))
		for i, at := range times {
			page[i] = store.Overdue{Key: core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(i)}, At: time.Now().Add(at).UnixMilli()}
		}
		return page
	}
	tests := []struct {
		name    string
		ahead   time.Duration
		due     []time.Duration
		hints   []string
		batches []int
	}{
		{"not at all", 0, []time.Duration{-time.Second, 0, time.Millisecond}, []string{"0 0s", "1 0s"}, []int{2}},
		{"ten seconds", 10 * time.Second, []time.Duration{-time.Second, 0, time.Millisecond, 10 * time.Second, 10*time.Second + time.Millisecond}, []string{"0 0s", "1 0s", "2 1ms", "3 10s"}, []int{2}},
		{"one is due", 10 * time.Second, []time.Duration{0, time.Second}, []string{"0 0s", "1 1s"}, nil},
		{"none is due", 10 * time.Second, []time.Duration{time.Second, 2 * time.Second}, []string{"0 1s", "1 2s"}, nil},
	}
	for _, tt := range tests {
		for _, batches := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in batches %t", tt.name, batches), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					due := list(t, tt.due...)
					w.store.OnOverdue = func(_ context.Context, shard int, until int64, _ *store.Overdue, _ int) (page []store.Overdue, err error) {
						for _, d := range due {
							if shard == 3 && d.At <= until {
								page = append(page, d)
							}
						}
						return page, nil
					}
					var queue interface {
						mailbox.Waker
						Lines() []string
					} = w.queue
					both := &batched{}
					if batches {
						queue = both
					}
					box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: queue, SweepAhead: tt.ahead, Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatal(err)
					}
					woken, err := box.Sweep(t.Context())
					if woken != len(tt.hints) || err != nil {
						t.Errorf("woken %d, %v; want %d", woken, err, len(tt.hints))
					}
					if diff := cmp.Diff(tt.hints, queue.Lines()); diff != "" {
						t.Errorf("hints (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.batches, both.sizes); batches && diff != "" {
						t.Errorf("sizes of the batches (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// batched is a queue that takes hints in batches, too.
type batched struct {
	mailboxtest.Queue
	sizes []int
}

func (q *batched) WakeBatch(ctx context.Context, hints []core.WakeUp, delay time.Duration) error {
	q.sizes = append(q.sizes, len(hints))
	for _, h := range hints {
		if err := q.Wake(ctx, h, delay); err != nil {
			return err
		}
	}
	return nil
}

// Every overdue thread is woken once, however many there are and whoever cannot
// be claimed: a page of a shard has 100, and some shards here have more.
func TestSweepWakesEveryOverdueThreadPastItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 1600 {
			s := input("hello", "")
			s.Thread.Thread = strconv.Itoa(i)
			w.submit(t, s)
		}
		w.queue.Clear()
		woken, err := w.Sweep(t.Context())
		if woken != 1600 || err != nil {
			t.Errorf("woken %d, %v; want 1600", woken, err)
		}
		threads := map[string]bool{}
		for _, m := range w.queue.Messages() {
			if threads[m.Hint.Thread] = true; !m.Hint.Sweep {
				t.Errorf("the hint of %s does not say that it is the sweep's", m.Hint.Thread)
			}
		}
		if len(threads) != 1600 {
			t.Errorf("%d threads were woken, want 1600", len(threads))
		}
	})
}

// A shard of 250 threads is read in three pages, each behind the one before.
func TestSweepPagesBehindTheLastThreadOfAPage(t *testing.T) {
	w := newWorld(t)
	var pages []string
	w.store.OnOverdue = func(_ context.Context, shard int, _ int64, after *store.Overdue, limit int) (page []store.Overdue, err error) {
		first := 0
		if after != nil {
			first = int(after.At)
		}
		if shard != 3 {
			return nil, nil
		}
		pages = append(pages, fmt.Sprintf("%d from %d", limit, first))
		for i := first + 1; i <= min(first+limit, 250); i++ {
			page = append(page, store.Overdue{Key: core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(i)}, At: int64(i)})
		}
		return page, nil
	}
	if woken, err := w.Sweep(t.Context()); woken != 250 || err != nil {
		t.Errorf("woken %d, %v; want 250", woken, err)
	}
	if diff := cmp.Diff([]string{"100 from 0", "100 from 100", "100 from 200"}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestRewakeOfAThreadWithNothingToDo(t *testing.T) {
	w := newWorld(t)
	for _, h := range []core.WakeUp{hint, {Tenant: "t", Thread: "a#b"}} {
		if woken, err := w.Rewake(t.Context(), h); woken || err != nil {
			t.Errorf("%s: woken %v, %v; want neither", h.Key(), woken, err)
		}
	}
	w.submit(t, input("one", ""))
	w.queue.Clear()
	if woken, err := w.Rewake(t.Context(), core.WakeUp{Tenant: "t", Thread: "t1", Kind: core.WakeCompact}); woken || err != nil {
		t.Errorf("a hint that asks for a summary: woken %v, %v; want it gone", woken, err)
	}
	if woken, err := w.Rewake(t.Context(), hint); !woken || err != nil {
		t.Errorf("a queued run: woken %v, %v", woken, err)
	}
	if diff := cmp.Diff([]string{"t1 1m0s"}, w.queue.Lines()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

// A sweep whose time is over in the middle of a page sends no further hint.
func TestSweepEndsInTheMiddleOfAPage(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"t0", "t13", "t26"} { // all of shard 0
		s := input("hello", "")
		s.Thread.Thread = id
		w.submit(t, s)
	}
	over, cancel := context.WithCancel(t.Context())
	queue := &mailboxtest.Queue{OnWake: func(core.WakeUp, time.Duration) error { cancel(); return nil }}
	box, err := mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Logger: slog.New(slog.DiscardHandler), Waker: queue,
	})
	if err != nil {
		t.Fatal(err)
	}
	if woken, err := box.Sweep(over); woken != 1 || !errors.Is(err, context.Canceled) || queue.Asked() != 1 {
		t.Errorf("woken %d, %v, the queue was asked %d times; want one", woken, err, queue.Asked())
	}
}

// What is wrong with a shard is said of each, once, and does not count.
func TestSweepThatCannotListItsShards(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hello", ""))
	w.reading(func() error { return errors.New("no index") })
	woken, err := w.Sweep(t.Context())
	if woken != 0 || err == nil || strings.Count(err.Error(), ": no index") != 16 || strings.Count(err.Error(), "list overdue threads of shard 15: no index") != 1 {
		t.Errorf("woken %d, %v; want an error of each of 16 shards", woken, err)
	}
}

// The dead-letter queue keeps a hint that could not be sent on, and lets one go
// that names no thread.
func TestRewakeThatCannotBeSent(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hello", ""))
	w.queue.OnWake = refuse
	if woken, err := w.Rewake(t.Context(), hint); woken || !errors.Is(err, errNoQueue) || err.Error() != "wake thread t/t1 again: no queue" {
		t.Errorf("woken %v, %v; want the queue's error", woken, err)
	}
	if woken, err := w.Rewake(t.Context(), core.WakeUp{Tenant: "t", Thread: "a#b"}); woken || err != nil {
		t.Errorf("a hint that names no thread: %v, %v; want it gone", woken, err)
	}
}

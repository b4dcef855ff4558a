package mailbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// withSchemas is the service of a program that reads and writes such records.
func (w *world) withSchemas(t *testing.T, reads, writes uint16) *mailbox.Service {
	t.Helper()
	box, err := mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler),
		Records: thread.Records{Schemas: thread.Schemas{Reads: reads, Writes: writes}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// A program that is too old for a thread leaves it unwritten, and its hint comes
// back six times, then no more: the sweep has the thread.
func TestOlderProgramSendsTheHintOnSixTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		newer, older := w.withSchemas(t, 2, 2), w.withSchemas(t, 1, 1)
		if _, err := newer.Submit(t.Context(), input("one", "")); err != nil {
			t.Fatal(err)
		}
		before, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		w.queue.Clear()
		next := hint
		for range 10 {
			sent := len(w.queue.Messages())
			if _, claimed, err := older.Claim(t.Context(), next, false); claimed || err != nil {
				t.Fatalf("claimed %v, %v", claimed, err)
			}
			messages := w.queue.Messages()
			if len(messages) == sent {
				break
			}
			next = messages[sent].Hint
		}
		want := []string{"t1 30s", "t1 1m0s", "t1 2m0s", "t1 4m0s", "t1 5m0s", "t1 5m0s"}
		if diff := cmp.Diff(want, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		after, err := w.Head(t.Context(), key)
		if err != nil || after.Version != before.Version {
			t.Errorf("the head went from version %d to %d, %v; want it unwritten", before.Version, after.Version, err)
		}
		swept := hint
		swept.Sweep = true
		w.queue.Clear()
		if _, claimed, err := older.Claim(t.Context(), swept, false); claimed || err != nil || len(w.queue.Messages()) != 0 {
			t.Errorf("the sweep's hint: claimed %v, %v, and %q was sent; want nothing", claimed, err, w.queue.Lines())
		}
		time.Sleep(time.Hour)
		if !older.WakeLeft(t.Context(), key, after) || len(w.queue.Messages()) != 1 {
			t.Fatalf("who follows the thread sent %q, want one hint", w.queue.Lines())
		}
		if _, claimed, err := older.Claim(t.Context(), w.queue.Messages()[0].Hint, false); claimed || err != nil || len(w.queue.Messages()) != 1 {
			t.Errorf("the hint of who follows: claimed %v, %v, and it was sent on: %q", claimed, err, w.queue.Lines())
		}
		if _, claimed, err := newer.Claim(t.Context(), hint, false); !claimed || err != nil {
			t.Errorf("the newer program: claimed %v, %v", claimed, err)
		}
	})
}

// Where there is nothing to claim, a newer program's thread is like any other.
func TestOlderProgramHasNothingToSayAboutAnIdleThread(t *testing.T) {
	w := newWorld(t)
	newer, older := w.withSchemas(t, 2, 2), w.withSchemas(t, 1, 1)
	if _, err := newer.Submit(t.Context(), input("one", "")); err != nil {
		t.Fatal(err)
	}
	if _, claimed, err := newer.Claim(t.Context(), hint, false); !claimed || err != nil {
		t.Fatal(claimed, err)
	}
	w.queue.Clear()
	if _, claimed, err := older.Claim(t.Context(), hint, false); claimed || err != nil || len(w.queue.Messages()) != 0 {
		t.Errorf("claimed %v, %v, and %q was sent; want nothing", claimed, err, w.queue.Lines())
	}
}

// A claim that failed is not the queue's failure, which would hide its message
// for minutes: it is acknowledged once a hint in 5 to 30 s is sent. A sweep's is
// acknowledged without one, since the next sweep sends its own.
func TestFailedClaimIsAcknowledgedAfterItsNewHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		writes := 0
		w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
			writes++
			return store.Outcome{}, errors.New("connection refused")
		}
		w.queue.Clear()
		began := time.Now()
		if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil {
			t.Errorf("claimed %v, %v; want neither", claimed, err)
		}
		if writes != 7 || time.Since(began) > 7*time.Second {
			t.Errorf("%d writes in %s, want 7 within 7s", writes, time.Since(began))
		}
		if sent := w.queue.Messages(); len(sent) != 1 || sent[0].Delay < 5*time.Second || sent[0].Delay > 30*time.Second || sent[0].Hint.Sweep {
			t.Errorf("hints %q; want one of the queue's own in 5s to 30s", sent)
		}
		swept := hint
		swept.Sweep = true
		if _, claimed, err := w.Claim(t.Context(), swept, false); claimed || err != nil || len(w.queue.Messages()) != 1 {
			t.Errorf("a sweep's: claimed %v, %v, hints %q; want no further one", claimed, err, w.queue.Lines())
		}
		w.queue.OnWake = refuse
		if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || !errors.Is(err, errNoQueue) {
			t.Errorf("without a queue: claimed %v, %v, want the item to fail", claimed, err)
		}
	})
}

// A head that cannot be read will not be read at the next try either.
func TestClaimOfADamagedThreadFailsForGood(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		return store.Outcome{}, store.ErrCorrupt
	}
	w.queue.Clear()
	if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || core.CodeOf(err) != core.CodeCorrupt || len(w.queue.Messages()) != 0 {
		t.Errorf("claimed %v, %v, and %q was sent; want code corrupt and no hint", claimed, err, w.queue.Lines())
	}
}

// A run that lost two claims may be what takes its process down: who has other
// work sends its hint on, a little later.
func TestSuspectIsLeftToAProcessOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		for range 2 {
			w.claim(t)
			if err := w.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
				t.Fatal(err)
			}
		}
		w.queue.Clear()
		if _, claimed, err := w.Claim(t.Context(), hint, false); claimed || err != nil {
			t.Errorf("beside other work: claimed %v, %v; want neither", claimed, err)
		}
		if sent := w.queue.Messages(); len(sent) != 1 || sent[0].Delay < 500*time.Millisecond || sent[0].Delay > 3*time.Second {
			t.Errorf("hints %q; want one in 0.5s to 3s", sent)
		}
		w.queue.Clear() // a sweep's becomes one that renews itself
		if _, claimed, err := w.Claim(t.Context(), swept, false); claimed || err != nil || len(w.queue.Messages()) != 1 || w.queue.Messages()[0].Hint != hint {
			t.Errorf("by a sweep's hint: claimed %v, %v, hints %+v; want one of the queue's own", claimed, err, w.queue.Messages())
		}
		if head, claimed, err := w.Claim(t.Context(), hint, true); !claimed || err != nil || head.Run.Attempts != 3 {
			t.Errorf("alone: claimed %v, %v, %d attempts; want the third", claimed, err, head.Run.Attempts)
		}
	})
}

// A hint that comes too early sends itself again for when there is something to
// do; a sweep's does not, since the next sweep comes anyway.
func TestEarlyHintComesBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("one", ""))
		head := w.claim(t)
		w.commit(t, thread.Nack{Fence: head.Claim.Fence, AvailableAt: time.Now().Add(20 * time.Second).UnixMilli()})
		time.Sleep(5 * time.Second)
		for sweep, want := range map[bool][]string{false: {"t1 15s"}, true: nil} {
			early := hint
			early.Sweep = sweep
			w.queue.Clear()
			if _, claimed, err := w.Claim(t.Context(), early, false); claimed || err != nil {
				t.Errorf("claimed %v, %v", claimed, err)
			}
			if diff := cmp.Diff(want, w.queue.Lines()); diff != "" {
				t.Errorf("sweep %v: hints (-want +got):\n%s", sweep, diff)
			}
		}
		time.Sleep(15 * time.Second)
		w.claim(t)
	})
}

// The sweep finds a thread at a due time that is no longer right. The claim puts
// the time right, and sends the hint for the right one: it moves as the time does.
func TestSweepOfAWrongDueTimeIsHintedForTheRightOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		box, err := mailbox.New(mailbox.Options{
			Env: env.System(), Store: indexed{w.store, thread.DuePolicy{Grace: 120_000, Round: 60_000}}, Waker: w.queue,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Service = box
		w.submit(t, input("one", ""))
		head := w.claim(t)
		w.commit(t, thread.Nack{Fence: head.Claim.Fence, AvailableAt: time.Now().Add(20 * time.Minute).UnixMilli()})
		time.Sleep(10 * time.Minute)
		w.queue.Clear()
		swept := hint
		swept.Sweep = true
		for range 2 {
			if _, claimed, err := w.Claim(t.Context(), swept, false); claimed || err != nil {
				t.Errorf("claimed %v, %v", claimed, err)
			}
		}
		if diff := cmp.Diff([]string{"t1 10m0s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// What one thread cannot do holds up no other.
func TestReclaimGoesOnPastADamagedThread(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.claim(t)
	w.queue.Clear()
	if err := w.Reclaim(t.Context(), []core.ThreadKey{{Tenant: "t", Thread: "a#b"}, key}); err != nil {
		t.Fatal(err)
	}
	if head, err := w.Head(t.Context(), key); err != nil || head.Claim.Fence != 0 || head.Run.Lost != 1 {
		t.Errorf("head %+v, %v; want the claim taken back and counted as lost", head, err)
	}
	if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
		t.Errorf("hints (-want +got):\n%s", diff)
	}
}

// Hints that come back are spread, so that those of one failure do not come back
// together: these are the longest delays.
func TestLongestDelaysOfHintsThatComeBack(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(t *testing.T, w *world)
		want    []string
	}{
		{"a suspect", func(t *testing.T, w *world) {
			for range 2 {
				w.claim(t)
				w.commit(t, thread.Reclaim{})
			}
		}, []string{"t1 2.999999999s"}},
		{"a claim that failed", func(_ *testing.T, w *world) {
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, context.DeadlineExceeded
			}
		}, []string{"t1 29.999999999s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.submit(t, input("one", ""))
				tt.arrange(t, w)
				w.queue.Clear()
				outside := env.System()
				outside.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(50*time.Second-1)) } // just under a multiple of both limits
				box, err := mailbox.New(mailbox.Options{Env: outside, Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				if _, claimed, err := box.Claim(t.Context(), hint, false); claimed || err != nil {
					t.Errorf("claimed %v, %v", claimed, err)
				}
				if diff := cmp.Diff(tt.want, w.queue.Lines()); diff != "" {
					t.Errorf("hints (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Whoever has no time left takes back no more claims, and says why.
func TestReclaimEndsWithItsCaller(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.claim(t)
	ctx, leave := context.WithCancelCause(t.Context())
	stops := errors.New("the host stops")
	w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		leave(stops)
		return thread.Head{}, ctx.Err()
	}
	if err := w.Reclaim(ctx, []core.ThreadKey{key, key}); !errors.Is(err, stops) {
		t.Errorf("%v, want that the host stops", err)
	}
	w.store.OnHead = nil
	if w.head(t).Claim.Fence == 0 {
		t.Error("the claim is taken back")
	}
}

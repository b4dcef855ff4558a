package mailbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// An enqueue whose answer is lost may be run to its end before its sender looks
// again: neither its commit id nor its dispatch is in the head any more.
func TestAnEnqueueThatWasRunBeforeItsAnswerCameIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(thread.Head) { w.end(t, w.claim(t)) })
		receipt := w.submit(t, input("hello", mailbox.ModeQueue))
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if head.Busy() || head.Version != 3 {
			t.Errorf("the run was enqueued again: version %d, pending %v", head.Version, head.Pending)
		}
		if !receipt.Duplicate {
			t.Error("the receipt does not say that the dispatch had been accepted")
		}
	})
}

// The bytes of a try without an answer go out again as they were, and the first
// look after it is at once.
func TestTryWithoutAnAnswerIsSentAgainAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var tries []store.Commit
		w.store.commit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if tries = append(tries, c); len(tries) == 1 {
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		began := time.Now()
		w.submit(t, input("hello", ""))
		if len(tries) != 2 || time.Since(began) != 0 {
			t.Fatalf("%d tries in %s, want 2 at once", len(tries), time.Since(began))
		}
		if diff := cmp.Diff(tries[0], tries[1]); diff != "" {
			t.Errorf("the second try differs (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(hints{"t1 0s"}, *w.hints); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// A write that was applied without an answer is found by the look at the head,
// not by a second write.
func TestWriteThatWasAppliedWithoutAnAnswerIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		writes := 0
		w.store.commit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			writes++
			if _, err := w.store.Backend.Commit(ctx, key, c); err != nil {
				t.Error(err)
			}
			return store.Outcome{}, errors.New("connection reset by peer")
		}
		w.submit(t, input("hello", ""))
		if writes != 1 {
			t.Errorf("%d writes, want 1", writes)
		}
		if diff := cmp.Diff(hints{"t1 0s"}, *w.hints); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// A throttled store is left alone before the next try, and a permanent refusal
// is not tried again.
func TestWhichFailuresOfAWriteAreTriedAgain(t *testing.T) {
	tests := []struct {
		name    string
		failure error
		writes  int
		waited  bool
	}{
		{"throttled", store.ErrThrottled, 7, true},
		{"unknown", errors.New("connection reset by peer"), 7, true},
		{"too large", store.ErrTooLarge, 1, false},
		{"invalid", core.Errorf(core.CodeInvalid, "no"), 1, false},
		{"the caller is gone", context.Canceled, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				writes := 0
				w.store.commit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
					writes++
					return store.Outcome{}, tt.failure
				}
				began := time.Now()
				if _, err := w.Submit(t.Context(), input("hello", "")); !errors.Is(err, tt.failure) {
					t.Errorf("submit: %v, want %v", err, tt.failure)
				}
				if took := time.Since(began); writes != tt.writes || took > 8*time.Second || took > 0 != tt.waited {
					t.Errorf("%d writes in %s, want %d", writes, took, tt.writes)
				}
				if len(*w.hints) != 0 {
					t.Errorf("%q was sent for what is not known to be written", *w.hints)
				}
			})
		})
	}
}

// Whoever loses a race gets the head that won, and tries on it at once.
func TestRefusedWriteIsTriedOnTheHeadThatWon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.submit(t, input("zero", ""))
		writes := 0
		var race func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
		race = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes <= 5 {
				w.store.commit = nil
				w.commit(t, thread.Touch{})
				w.store.commit = race
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.store.commit = race
		began := time.Now()
		w.submit(t, input("one", ""))
		head, err := w.Head(t.Context(), key)
		if err != nil || head.Version != 7 || len(head.Pending) != 2 || writes != 6 || time.Since(began) != 0 {
			t.Errorf("version %d with %d pending after %d writes in %s, %v", head.Version, len(head.Pending), writes, time.Since(began), err)
		}
	})
}

// Records of a refused try of somebody without a claim stand at the version that
// another such write needs: the version is moved on, and nothing else.
func TestEqualVersionOfARewritableRecordIsTouched(t *testing.T) {
	w := newWorld(t)
	first := w.submit(t, input("one", ""))
	audit := store.Record{Name: store.EndedName(first.DispatchID), Version: 2, Payload: []byte(`{"schema":1,"orphan":true}`)}
	if err := w.store.Backend.Put(t.Context(), key, audit); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Cancel(t.Context(), key, first.RunID); err != nil {
		t.Fatal(err)
	}
	head, err := w.Head(t.Context(), key)
	if err != nil || head.Version != 3 || len(head.Pending) != 0 {
		t.Errorf("version %d with %d pending, %v; want version 3 and none", head.Version, len(head.Pending), err)
	}
	if got := w.status(t, first); got != "done cancelled" {
		t.Errorf("the run is %q", got)
	}
}

// A holder whose own other bytes stand in its way is told so, and nothing is
// touched: it takes the next fence.
func TestHolderInItsOwnWayIsAConflict(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: store.LogName(1), Fence: 1, Payload: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	done := thread.CommitStep{Fence: 1, Outcome: thread.Done, Seq: 1}
	build := func(fence uint64) func(thread.Head, thread.Result) ([]store.Record, error) {
		return func(thread.Head, thread.Result) ([]store.Record, error) {
			return []store.Record{{Name: store.LogName(1), Fence: fence, Payload: []byte("b")}}, nil
		}
	}
	stood, _, err := w.Commit(t.Context(), key, head, done, build(1))
	if !errors.Is(err, store.ErrConflict) || stood.Version != head.Version {
		t.Fatalf("commit: %v at version %d, want a conflict at version %d", err, stood.Version, head.Version)
	}
	head = w.commit(t, thread.Refence{Fence: 1})
	done.Fence = 2
	if _, result, err := w.Commit(t.Context(), key, head, done, build(2)); err != nil || result.Outcome != thread.Done {
		t.Errorf("under the next fence: %s, %v", result.Outcome, err)
	}
}

// What build cannot make is the commit's error, before anything is stored.
func TestErrorOfBuildStopsTheCommit(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	broken := errors.New("cannot be encoded")
	_, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Outcome: thread.Done}, func(thread.Head, thread.Result) ([]store.Record, error) {
		return nil, broken
	})
	now, _ := w.Head(t.Context(), key)
	if !errors.Is(err, broken) || now.Version != head.Version {
		t.Errorf("commit: %v, and the head went from version %d to %d", err, head.Version, now.Version)
	}
}

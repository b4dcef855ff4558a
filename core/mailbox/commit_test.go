package mailbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// An enqueue whose response is lost may be run to its end before its sender looks
// again: neither its commit id nor its dispatch is in the head any more.
func TestAnEnqueueThatWasRunBeforeItsResponseCameIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lose(t, func(thread.Head) { w.end(t, w.claim(t)) })
		receipt := w.submit(t, input("hello", mailbox.ModeQueue))
		head, err := w.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if head.Busy(0) || head.Version != 3 {
			t.Errorf("the run was enqueued again: version %d, pending %v", head.Version, head.Pending)
		}
		if !receipt.Duplicate {
			t.Error("the receipt does not say that the dispatch had been accepted")
		}
	})
}

// The bytes of a try without a response go out again as they were, and the first
// look after it is at once.
func TestTryWithoutAResponseIsSentAgainAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var tries []store.Commit
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if tries = append(tries, c); len(tries) == 1 {
				return store.Outcome{Written: true}, errors.New("connection reset by peer")
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
		if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
	})
}

// A write that was applied without a response is found by the look at the head,
// not by a second write.
func TestWriteThatWasAppliedWithoutAResponseIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		writes := 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
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
		if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
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
		{"a try of the client's own that timed out", fmt.Errorf("awaiting headers: %w", context.DeadlineExceeded), 7, true},
		{"corrupt", store.ErrCorrupt, 1, false},
		{"of a newer program", thread.ErrSchema, 1, false},
		{"a conflict", store.ErrConflict, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				writes := 0
				w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
					writes++
					return store.Outcome{}, tt.failure
				}
				began := time.Now()
				if _, err := w.Submit(t.Context(), input("hello", "")); !errors.Is(err, tt.failure) && core.CodeOf(err) != core.CodeTooLarge {
					t.Errorf("submit: %v, want %v", err, tt.failure)
				}
				if took := time.Since(began); writes != tt.writes || took > 8*time.Second || took > 0 != tt.waited {
					t.Errorf("%d writes in %s, want %d", writes, took, tt.writes)
				}
				if len(w.queue.Messages()) != 0 {
					t.Errorf("%q was sent for what is not known to be written", w.queue.Lines())
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
				w.store.OnCommit = nil
				w.commit(t, thread.Touch{})
				w.store.OnCommit = race
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.store.OnCommit = race
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
	audit := store.Record{Name: recordname.Ended(first.DispatchID), Version: 2, Payload: []byte(`{"schema":1,"orphan":true}`)}
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
	name := recordname.Run(head.Run.ID) // which a later version would replace
	w.put(t, store.Record{Name: name, Fence: 1, Version: 3, Payload: []byte("a")})
	stood, _, err = w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Outcome: thread.Done}, func(thread.Head, thread.Result) ([]store.Record, error) {
		return []store.Record{{Name: name, Fence: 1, Version: 3, Payload: []byte("b")}}, nil
	})
	if !errors.Is(err, store.ErrConflict) || stood.Version != head.Version {
		t.Fatalf("commit of the run's record: %v at version %d, want a conflict at version %d", err, stood.Version, head.Version)
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

// The waits between tries double from 200 ms to 2 s, each with full jitter; the
// first look after a failure that may have been a lost response is at once.
func TestWaitsBetweenTheTriesOfAWrite(t *testing.T) {
	tests := []struct {
		name    string
		failure error
		want    []time.Duration
	}{
		{"unknown", errors.New("connection reset by peer"), []time.Duration{199, 399, 799, 1599, 1999}},
		{"throttled", store.ErrThrottled, []time.Duration{99, 199, 399, 799, 1599, 1999}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				return store.Outcome{}, tt.failure
			}
			var waits []time.Duration
			outside := env.System()
			outside.Sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d/time.Millisecond)
				return nil
			}
			// Nearly the limit of every jitter: one nanosecond less than a multiple of all.
			outside.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(16*time.Second-1)) }
			box, err := mailbox.New(mailbox.Options{Env: outside, Store: w.store, Waker: w.queue})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := box.Commit(t.Context(), key, thread.Head{}, thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{2}}, nil); !errors.Is(err, tt.failure) {
				t.Errorf("commit: %v, want %v", err, tt.failure)
			}
			if diff := cmp.Diff(tt.want, waits); diff != "" {
				t.Errorf("waits in ms (-want +got):\n%s", diff)
			}
		})
	}
}

// A caller that is gone does not wait for the next try.
func TestWaitForTheNextTryEndsWithItsCaller(t *testing.T) {
	w := newWorld(t)
	writes := 0
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		writes++
		return store.Outcome{}, store.ErrThrottled
	}
	gone := errors.New("the caller is gone")
	outside := env.System()
	outside.Sleep = func(context.Context, time.Duration) error { return gone }
	box, err := mailbox.New(mailbox.Options{Env: outside, Store: w.store, Waker: w.queue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Submit(t.Context(), input("one", "")); !errors.Is(err, gone) || !errors.Is(err, store.ErrThrottled) || writes != 1 {
		t.Errorf("submit: %v after %d writes; want both errors after one", err, writes)
	}
}

// Whoever loses every race, or meets a refused record under every head, gives up
// at the sixty-fifth, as if the store were throttling.
func TestLostRacesEnd(t *testing.T) {
	tests := []struct {
		name string
		lose func(now thread.Head) (store.Outcome, error)
		want string
	}{
		{"the head moved", func(now thread.Head) (store.Outcome, error) {
			return store.Outcome{Head: now}, nil
		}, "write head of t/t1: lost 65 races"},
		{"a record is refused", func(thread.Head) (store.Outcome, error) {
			return store.Outcome{}, &store.RefusedError{Name: "A", Cause: store.ErrFenced}
		}, "write to t/t1: record A: claim was lost to a later one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("zero", ""))
			writes := 0
			var race func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
			race = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
				writes++
				w.store.OnCommit = nil
				now := w.commit(t, thread.Touch{})
				w.store.OnCommit = race
				return tt.lose(now)
			}
			w.store.OnCommit = race
			_, err := w.Submit(t.Context(), input("one", ""))
			if core.CodeOf(err) != core.CodeThrottled || writes != 65 || err.Error() != tt.want {
				t.Errorf("submit: %v after %d writes; want it to be throttled after 65", err, writes)
			}
		})
	}
}

// An earlier try under the same key stored its input as a newer program does; one
// that understands it goes on, and the thread is the newer schema's from then on.
func TestInputOfAnEarlierTryIsKeptWithItsSchema(t *testing.T) {
	tests := []struct {
		name   string
		reads  uint16
		code   core.Code
		schema uint16
	}{
		{"a program that understands it", 2, "", 2},
		{"an older one", 1, core.CodeSchema, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := keyed("one", "")
			w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = nil
				w.points(c.Pointers...) // as without transactions
				w.put(t, c.Records[0])
				return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process died")
			}
			if _, err := w.withSchemas(t, 2, 2).Submit(t.Context(), s); core.CodeOf(err) != core.CodeInvalid {
				t.Fatal(err)
			}
			w.queue.Clear()
			r, err := w.withSchemas(t, tt.reads, 1).Submit(t.Context(), s)
			if core.CodeOf(err) != tt.code || (err != nil) != (r == mailbox.Receipt{}) {
				t.Fatalf("submit: %+v, %v; want code %q", r, err, tt.code)
			}
			head, err := w.Head(t.Context(), key)
			if err != nil || head.Schema != tt.schema || len(head.Pending) != int(tt.schema)/2 || len(w.queue.Messages()) != len(head.Pending) {
				t.Errorf("schema %d, pending %v, hints %q, %v; want schema %d", head.Schema, head.Pending, w.queue.Lines(), err, tt.schema)
			}
		})
	}
}

// A holder's write has no response: it was applied and another's followed, or it
// was not applied and is sent again.
func TestHoldersWriteWithoutAResponseIsAppliedOnce(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprint("applied: ", applied), func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			head := w.claim(t)
			writes := 0
			count := func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				writes++
				return w.store.Backend.Commit(ctx, key, c)
			}
			if applied {
				w.lose(t, func(thread.Head) {
					w.commit(t, thread.Touch{})
					w.store.OnCommit = count
				})
			} else {
				w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
					w.store.OnCommit = count
					return store.Outcome{}, errors.New("connection reset by peer")
				}
			}
			step := thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: 1}
			_, result, err := w.Commit(t.Context(), key, head, step, nil)
			if err != nil || result.Outcome != thread.Yield {
				t.Fatalf("commit: %s, %v; want yield", result.Outcome, err)
			}
			want := map[bool]uint64{true: 4, false: 3}[applied]
			now, err := w.Head(t.Context(), key)
			if err != nil || now.Version != want || now.Seq != 1 || writes != int(4-want) {
				t.Errorf("version %d at sequence %d after %d more writes, %v; want version %d", now.Version, now.Seq, writes, err, want)
			}
		})
	}
}

// Who holds no claim and is refused a record that does not go with a version, or
// for another reason than its content, leaves the thread as it is.
func TestRefusedRecordThatNoOtherVersionHelps(t *testing.T) {
	look := errors.New("read timed out")
	tests := []struct {
		name    string
		refused *store.RefusedError
		look    error // of the head after it
		want    error
	}{
		{"input with other content", &store.RefusedError{Name: recordname.Input(core.ID{1}, 0), Cause: store.ErrConflict}, nil, store.ErrConflict},
		{"an audit of a later claim", &store.RefusedError{Name: recordname.Ended(core.ID{1}), Cause: store.ErrFenced}, nil, store.ErrFenced},
		{"the head cannot be read", &store.RefusedError{Name: recordname.Ended(core.ID{1}), Cause: store.ErrConflict}, look, look},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.submit(t, input("one", ""))
			w.queue.Clear()
			writes := 0
			w.store.OnCommit = func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
				writes++
				w.put(t, c.Records[0]) // as the refused write may have left it
				w.reading(func() error { return tt.look })
				return store.Outcome{}, tt.refused
			}
			if _, err := w.Submit(t.Context(), input("two", "")); !errors.Is(err, tt.want) || writes != 1 || len(w.queue.Messages()) != 0 {
				t.Errorf("submit: %v after %d writes, hints %q; want %v after one", err, writes, w.queue.Lines(), tt.want)
			}
		})
	}
}

// A refused record whose head has moved is tried again on the head that won.
func TestRefusedRecordUnderAHeadThatMoved(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	head := w.claim(t)
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		w.commit(t, thread.Touch{})
		return store.Outcome{}, &store.RefusedError{Name: store.LogName(1), Cause: store.ErrConflict}
	}
	now, _, err := w.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Outcome: thread.Yield, Seq: 1}, nil)
	if err != nil || now.Version != 4 || now.Seq != 1 {
		t.Errorf("commit: %v at version %d and sequence %d; want version 4", err, now.Version, now.Seq)
	}
}

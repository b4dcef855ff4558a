package thread_test

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// writer applies changes to one head, each under a commit id.
type writer struct {
	t    *testing.T
	now  int64
	head thread.Head
}

func (w *writer) write(commit string, c thread.Change) {
	w.t.Helper()
	next, result, err := thread.Apply(w.head, thread.Transition{Now: w.now, CommitID: id(commit), Change: c})
	if err != nil || result.Unchanged {
		w.t.Fatalf("%T: %v, unchanged %t", c, err, result.Unchanged)
	}
	if w.head, err = thread.Decode(next.AppendBinary(nil)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) takenBy(name string, want bool) {
	w.t.Helper()
	if got := w.head.TakenBy(id(name)); got != want {
		w.t.Errorf("version %d, fence %d: taken by %q is %t, want %t", w.head.Version, w.head.Claim.Fence, name, got, want)
	}
}

func claimed(t *testing.T) *writer {
	w := &writer{t: t, now: start}
	w.write("e", thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	w.takenBy("e", false)
	w.write("k", thread.TakeClaim{Worker: "w", Lease: 30_000})
	return w
}

func TestAClaimKnowsWhatTookItWhoeverWritesSince(t *testing.T) {
	w := claimed(t)
	for _, c := range []struct {
		commit string
		change thread.Change
	}{
		{"a", thread.Touch{}},
		{"b", thread.Input{ID: id("i")}},
		{"c", thread.CommitTurn{Fence: 1, Seq: 2, Calls: 1}},
		{"f", thread.Refence{Fence: 1}},
		{"g", thread.ExtendLease{Fence: 2, Lease: 60_000}},
		{"h", thread.Cancel{}},
	} {
		w.write(c.commit, c.change)
		w.takenBy("k", true)
		w.takenBy(c.commit, false)
	}
	w.now += 61_000
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000}) // another delivery of the same process
	w.takenBy("k", false)
	w.takenBy("l", true)
	w.write("n", thread.Nack{Fence: 3, Closing: true})
	w.takenBy("l", false)
	w.takenBy("", false)
}

func TestAnInlineClaimKnowsWhatTookIt(t *testing.T) {
	w := &writer{t: t, now: start}
	w.write("k", thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d"), Run: id("r")}, Worker: "w", Lease: 30_000})
	w.write("a", thread.Touch{})
	w.takenBy("k", true)
	w.write("l", thread.EnqueueAndClaim{Enqueue: thread.Enqueue{Dispatch: id("d2"), Run: id("r2")}, Worker: "w", Lease: 30_000})
	w.takenBy("k", true) // the second one was only queued
	w.takenBy("l", false)
}

// A worker that hears of its claim when the lease is over refences it: then it is its
// own for another lease, or another's.
func TestARefenceRenewsALeaseThatIsOver(t *testing.T) {
	w := claimed(t)
	w.now += 31_000
	w.write("m", thread.Refence{Fence: 1, Lease: 30_000})
	if want := w.now + 30_000; w.head.Claim.Lease != want {
		t.Errorf("the lease ends at %d, want %d", w.head.Claim.Lease, want)
	}
	w.write("n", thread.Refence{Fence: 2, Lease: 1_000})
	if want := w.now + 30_000; w.head.Claim.Lease != want {
		t.Errorf("a shorter one leaves it at %d, want %d", w.head.Claim.Lease, want)
	}
	w.now += 31_000
	w.write("l", thread.TakeClaim{Worker: "w", Lease: 30_000})
	if _, _, err := thread.Apply(w.head, thread.Transition{Now: w.now, CommitID: id("o"), Change: thread.Refence{Fence: 3, Lease: 30_000}}); !errors.Is(err, thread.ErrFenced) {
		t.Errorf("under a claim that was taken over: %v, want that it is lost", err)
	}
}

// An interrupt ends what its caller saw, and nothing that came behind another one, also
// when its key is forgotten.
func TestAnInterruptOfAnEarlierEpochEndsNothing(t *testing.T) {
	w := &writer{t: t, now: start}
	w.write("e", thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	w.write("i", thread.Interrupt{Dedupe: 7})
	for i := range uint64(17) {
		w.write("f", thread.Enqueue{Dispatch: id("d2"), Run: id("r2"), Dedupe: 100 + i})
		w.write("g", thread.Cancel{Run: id("r2")})
	}
	w.write("f", thread.Enqueue{Dispatch: id("d2"), Run: id("r2")})
	again := func(epoch uint64) (thread.Head, thread.Result, error) {
		return thread.Apply(w.head, thread.Transition{Now: w.now, CommitID: id("j"), Change: thread.Interrupt{Dedupe: 7, Epoch: epoch}})
	}
	next, result, err := again(0)
	if err != nil || !result.Unchanged || !result.Duplicate || result.Hint == nil || len(next.Pending) != 1 {
		t.Errorf("again: %+v, %v, and %d runs are queued; want a duplicate with a hint", result, err, len(next.Pending))
	}
	if next, _, err = again(1); err != nil || len(next.Pending) != 0 || next.Epoch != 2 {
		t.Errorf("of the epoch that stands: %d runs are queued at epoch %d, %v", len(next.Pending), next.Epoch, err)
	}
}

package mailbox_test

import (
	"context"
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
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store/memory"
)

// twice is a queue of many processes: it takes a hint and its second one in one request.
type twice struct {
	mailboxtest.Queue
	requests int
	fails    error
	silent   bool // it answers no request
}

func (q *twice) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	q.requests++
	if q.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return errors.Join(q.fails, q.Queue.Wake(ctx, hint, delay))
}

func (q *twice) WakeTwice(ctx context.Context, hint core.WakeUp, delay, second time.Duration) error {
	q.requests++
	return errors.Join(q.fails, q.Queue.Wake(ctx, hint, delay), q.Queue.Wake(ctx, hint, second))
}

// hinted returns a mailbox over such a queue.
func hinted(t *testing.T, lease time.Duration) (*mailbox.Service, *twice) {
	t.Helper()
	q := &twice{}
	box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: memory.New(), Waker: q, Logger: slog.New(slog.DiscardHandler), Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return box, q
}

// sent fails unless these hints were sent, in so many requests, and forgets them.
func (q *twice) sent(t *testing.T, requests int, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, q.Lines()); diff != "" || q.requests != requests {
		t.Errorf("%d requests, want %d; hints (-want +got):\n%s", q.requests, requests, diff)
	}
	q.Clear()
	q.requests = 0
}

func TestSecondHintsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, q := hinted(t, 30*time.Second)
		if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
			t.Fatal(err)
		}
		q.sent(t, 1, "t1 0s", "t1 1m0s")
		hint := core.WakeUp{Tenant: "t", Thread: "t1"}
		head, _, err := box.Claim(t.Context(), hint, false)
		if err != nil {
			t.Fatal(err)
		}
		q.sent(t, 0)
		for range 2 { // the lease is renewed past the second hint once
			time.Sleep(21 * time.Second)
			if head, _, err = box.Commit(t.Context(), key, head, thread.ExtendLease{Fence: 1, Lease: 30_000}, nil); err != nil {
				t.Fatal(err)
			}
		}
		q.sent(t, 1, "t1 1m0s")
		if _, _, err = box.Commit(t.Context(), key, head, thread.CommitStep{Fence: 1, Seq: 1, Outcome: thread.Yield, Followed: 7}, nil); err != nil {
			t.Fatal(err)
		}
		q.sent(t, 1, "t1 0s")
	})
}

// Both hints say the same: the second one may be the one that brings a worker.
func TestASecondHintSaysWhatTheFirstSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, q := hinted(t, time.Minute)
		receipt, err := box.Submit(t.Context(), input("one", ""))
		if err != nil {
			t.Fatal(err)
		}
		want := core.WakeUp{Tenant: "t", Thread: "t1", Dispatch: receipt.DispatchID}
		if m := q.Messages(); len(m) != 2 || m[0].Hint != want || m[1].Hint != want || m[1].Delay != 2*time.Minute {
			t.Errorf("%+v, want twice %+v", m, want)
		}
	})
}

func TestASecondHintThatIsNotSentIsNoError(t *testing.T) {
	box, q := hinted(t, 30*time.Second)
	q.fails = errNoQueue
	if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
		t.Error(err)
	}
}

// A holder that renews its lease does not wait long for a queue that does not answer: meanwhile it
// would see neither the loss of its claim nor the end of its run.
func TestASecondHintIsGivenUpAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, q := hinted(t, 30*time.Second)
		if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
			t.Fatal(err)
		}
		head, _, err := box.Claim(t.Context(), core.WakeUp{Tenant: "t", Thread: "t1"}, false)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(26 * time.Second)
		q.silent = true
		began := time.Now()
		renewed, _, err := box.Commit(t.Context(), key, head, thread.ExtendLease{Fence: 1, Lease: 30_000}, nil)
		if took := time.Since(began); err != nil || took != 5*time.Second || q.requests != 2 {
			t.Errorf("renewed after %s with %v and %d requests, want 5 s and two requests", took, err, q.requests)
		}
		if want := began.Add(30 * time.Second).UnixMilli(); renewed.Claim.Lease != want {
			t.Errorf("lease until %d, want %d", renewed.Claim.Lease, want)
		}
	})
}

// A queue keeps no hint for longer than 15 minutes: the sweep finds runs with longer leases.
func TestTheLongestLeaseWithSecondHints(t *testing.T) {
	for _, tt := range []struct {
		lease time.Duration
		want  []string
	}{
		{7*time.Minute + 30*time.Second, []string{"t1 0s", "t1 15m0s"}},
		{7*time.Minute + 30*time.Second + time.Millisecond, []string{"t1 0s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			box, q := hinted(t, tt.lease)
			if _, err := box.Submit(t.Context(), input("one", "")); err != nil {
				t.Fatal(err)
			}
			q.sent(t, 1, tt.want...)
		})
	}
}

// Requests that stream a run send nothing: neither where they submit, nor where they decide
// and claim.
func TestAStreamedRunSendsNoHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, q := hinted(t, 30*time.Second)
		receipt, head, _, err := box.SubmitAndClaim(t.Context(), input("one", ""))
		if err != nil || !receipt.Running {
			t.Fatal(receipt, err)
		}
		if head, _, err = box.Commit(t.Context(), key, head, thread.Nack{Fence: 1, Kind: thread.NackGiven}, nil); err != nil {
			t.Fatal(err)
		}
		q.sent(t, 1, "t1 0s", "t1 1m0s") // from here on it is the workers'
		if _, claimed, err := box.ClaimInline(t.Context(), head, core.WakeUp{Tenant: "t", Thread: "t1"}); err != nil || !claimed {
			t.Fatal(claimed, err)
		}
		q.sent(t, 0)
	})
}

// Who follows a thread wakes its workers when the work is left alone, and not before.
func TestWhoFollowsWakesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, head, _, err := w.SubmitAndClaim(t.Context(), input("one", ""))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(35 * time.Second)
		if w.WakeLeft(t.Context(), key, head) || len(w.queue.Lines()) != 0 {
			t.Error("a hint was sent after 35 s")
		}
		time.Sleep(time.Millisecond)
		if !w.WakeLeft(t.Context(), key, head) {
			t.Error("no hint was sent")
		}
		want := core.WakeUp{Tenant: "t", Thread: "t1", Dispatch: head.Run.Dispatch, Sweep: true}
		if m := w.queue.Messages(); len(m) != 1 || m[0].Hint != want || m[0].Delay != 0 {
			t.Errorf("%+v, want %+v at once", m, want)
		}
		if _, claimed, err := w.Claim(t.Context(), want, false); err != nil || !claimed {
			t.Errorf("claimed %v, %v", claimed, err)
		}
	})
}

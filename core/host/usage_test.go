package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
)

// priced is a backend whose reads and writes cost units, and a queue whose requests do.
type priced struct{ store.Backend }

func (p priced) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	store.MeterOf(ctx).Add(core.Spent{Read: 100})
	return p.Backend.Head(ctx, key)
}

// Commit costs a unit for each record and the head.
func (p priced) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	store.MeterOf(ctx).Add(core.Spent{Write: 100 * int64(1+len(c.Records))})
	return p.Backend.Commit(ctx, key, c)
}

// EstimateCommit is too low, always.
func (p priced) EstimateCommit(store.Commit) core.Spent { return core.Spent{WriteMore: 50} }

type pricedQueue struct{ *mailboxtest.Queue }

func (q pricedQueue) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	store.MeterOf(ctx).Add(core.Spent{Queue: 100})
	return q.Queue.Wake(ctx, hint, delay)
}

// TestWhatAProcessSpends: each write of a run's head says what its process has counted,
// less what was estimated before, and estimates itself and its hint. A batch of two shares
// its receive and its delete.
func TestWhatAProcessSpends(t *testing.T) {
	var records []account.Record
	w := newWorld(t, func(c *host.Options) {
		c.Store, c.Waker = priced{c.Store}, pricedQueue{c.Waker.(*mailboxtest.Queue)}
		c.Metering = &host.Metering{Memory: 256, Ended: func(tenant string, r account.Record) {
			if tenant != "local" {
				t.Errorf("tenant %q", tenant)
			}
			records = append(records, r)
		}}
	})
	if _, err := w.Submit(t.Context(), submission("t1", "hello")); err != nil {
		t.Fatal(err)
	}
	hint, _ := w.queue.Receive()
	other := hint
	other.Thread = "nobody" // a hint that finds nothing
	for _, err := range w.WorkBatch(t.Context(), []core.WakeUp{hint, other}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Submit(t.Context(), submission("t2", "echo: hello")); err != nil {
		t.Fatal(err)
	}
	for {
		hint, ok := w.queue.Receive()
		if !ok {
			break
		}
		if err := w.WorkBatch(t.Context(), []core.WakeUp{hint})[0]; err != nil {
			t.Fatal(err)
		}
	}
	var got []core.Spent
	for _, r := range records {
		r.Spent.Handler = 0
		got = append(got, r.Spent)
	}
	want := []core.Spent{
		// Half of two requests. The claim is a head, of which half was estimated; the last write is estimated twice, with the claim.
		{Write: 50, Queue: 100, WriteMore: 100},
		// Two deliveries: their heads are read, and their claims as before. Commit A is
		// four records, with the prompt of the thread's first turn, and a head, of which 50 were
		// estimated; commit B and the last are as before.
		{Write: 50 + 450 + 50, Read: 200, Queue: 400, WriteMore: 250, QueueMore: 100},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
}

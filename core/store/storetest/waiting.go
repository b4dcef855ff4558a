package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var waitingClauses = []clause{
	{"WaitingThreadIsListedForItsTenantOnly", waitingThreadIsListedForItsTenantOnly},
	{"WaitingGoesWithTheTicket", waitingGoesWithTheTicket},
	{"RefusedHeadDoesNotWait", refusedHeadDoesNotWait},
	{"LongestWaitingFirst", longestWaitingFirst},
	{"WaitingThreadsArePaged", waitingThreadsArePaged},
}

func (p *probe) waitingHead(version uint64, since int64) thread.Head {
	p.t.Helper()
	return WaitingHead(p.t, version, since)
}

// WaitingHead returns the head of a thread that has waited for a decision since a time,
// in unix milliseconds. Nothing in it is due.
func WaitingHead(t testing.TB, version uint64, since int64) thread.Head {
	t.Helper()
	var h thread.Head
	for _, change := range []thread.Change{
		thread.Enqueue{Dispatch: core.ID{0xdd}, Run: core.ID{0xaa}},
		thread.TakeClaim{Worker: "w", Lease: 1},
		thread.CommitTurn{Fence: 1, Seq: 1, Calls: 1, TurnFence: 1},
		thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{Call: 0, ID: 1}}},
	} {
		next, _, err := thread.Apply(h, thread.Transition{Now: since, CommitID: core.ID{0xc0}, Change: change})
		if err != nil {
			t.Fatalf("%T: %v", change, err)
		}
		h = next
	}
	if h.Run.WaitsSince != since {
		t.Fatalf("the head of this test waits since %d, want %d", h.Run.WaitsSince, since)
	}
	h.Version, h.DueAt = version, 0
	return h
}

func waitingThreadIsListedForItsTenantOnly(p *probe) {
	p.wantWaiting(p.tenant, nil, 10)
	p.set(p.key("t1"), p.waitingHead(1, 5000))
	p.set(p.key("t2"), head(1, 1)) // does not wait
	longer := core.ThreadKey{Tenant: p.tenant + ".x", Thread: "t1"}
	p.set(longer, p.waitingHead(1, 6000))
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "t1", Since: 5000})
	p.wantWaiting(longer.Tenant, nil, 10, store.Waiting{Thread: "t1", Since: 6000})
	p.wantWaiting(p.tenant+".", nil, 10)
	p.wantWaiting(p.tenant[:len(p.tenant)-1], nil, 10)
}

func waitingGoesWithTheTicket(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	p.set(key, p.waitingHead(2, 5000))
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "t", Since: 5000})
	p.set(key, p.waitingHead(3, 5000)) // another change of the same head
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "t", Since: 5000})
	p.set(key, head(4, 4))
	p.wantWaiting(p.tenant, nil, 10)
	p.set(key, p.waitingHead(5, 7000))
	p.set(key, p.waitingHead(6, 8000)) // one ticket after the other
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "t", Since: 8000})
}

func refusedHeadDoesNotWait(p *probe) {
	key := p.key("t")
	p.set(key, p.waitingHead(1, 5000))
	for _, refused := range []thread.Head{p.waitingHead(7, 6000), head(7, 7)} {
		if got, err := p.b.Commit(p.ctx, key, store.Commit{Head: refused}); got.Written || err != nil {
			p.t.Fatalf("Commit(version 7 over 1) returns Written=%v, %v, want false and no error", got.Written, err)
		}
	}
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "t", Since: 5000})
}

func longestWaitingFirst(p *probe) {
	all := []store.Waiting{
		{Thread: "b", Since: 9}, {Thread: "c", Since: 10}, {Thread: "a", Since: 200}, {Thread: "aa", Since: 200},
		{Thread: "b:1", Since: 200}, {Thread: "d", Since: 1_700_000_000_000},
	}
	for _, i := range []int{3, 0, 5, 1, 4, 2} {
		p.set(p.key(all[i].Thread), p.waitingHead(1, all[i].Since))
	}
	p.wantWaiting(p.tenant, nil, 100, all...)
	p.wantWaiting(p.tenant, nil, 6, all...)
	p.wantWaiting(p.tenant, nil, 2, all[:2]...)
	p.wantWaiting(p.tenant, nil, 0)
	p.wantWaiting(p.tenant, nil, -1)
	p.wantWaiting(p.tenant, &all[0], 100, all[1:]...)
	p.wantWaiting(p.tenant, &all[2], 2, all[3:5]...)
	p.wantWaiting(p.tenant, &all[5], 100)
	p.wantWaiting(p.tenant, &store.Waiting{Thread: "ab", Since: 200}, 100, all[4:]...) // waits no more
	p.wantWaiting(p.tenant, &store.Waiting{Thread: "z", Since: 8}, 1, all[0])
}

// waitingThreadsArePaged continues after a thread whose decision arrives between two
// pages.
func waitingThreadsArePaged(p *probe) {
	const threads, page = 25, 10
	for i := range threads {
		p.set(p.key(fmt.Sprintf("t%02d", i)), p.waitingHead(1, int64(1+i/3)))
	}
	p.eventually(func() error {
		got, err := p.b.Waiting(p.ctx, p.tenant, nil, threads)
		if err == nil && len(got) != threads {
			err = fmt.Errorf("Waiting(%s) lists %d threads, want %d", p.tenant, len(got), threads)
		}
		return err
	})
	var after *store.Waiting
	var got []string
	for {
		list, err := p.b.Waiting(p.ctx, p.tenant, after, page)
		if err != nil {
			p.t.Fatalf("Waiting(%s, after %v): %v", p.tenant, after, err)
		}
		for _, w := range list {
			got = append(got, w.Thread)
		}
		if len(list) < page {
			break
		}
		after = &list[len(list)-1]
		p.set(p.key(after.Thread), head(2, 2))
	}
	var want []string
	for i := range threads {
		want = append(want, fmt.Sprintf("t%02d", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("pages of %d threads, each after the last thread of the previous page, which no longer waits by then (-want +got):\n%s", page, diff)
	}
}

func (p *probe) wantWaiting(tenant string, after *store.Waiting, limit int, want ...store.Waiting) {
	p.t.Helper()
	p.eventually(func() error {
		got, err := p.b.Waiting(p.ctx, tenant, after, limit)
		if err != nil {
			return fmt.Errorf("Waiting(%s, after %v, limit %d): %w", tenant, after, limit, err)
		}
		if diff := cmp.Diff(append([]store.Waiting{}, want...), append([]store.Waiting{}, got...)); diff != "" {
			return fmt.Errorf("Waiting(%s, after %v, limit %d) (-want +got):\n%s", tenant, after, limit, diff)
		}
		return nil
	})
}

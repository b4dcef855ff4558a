package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Options describes where a backend is less exact than the zero value requires. The zero
// value is for a backend that is exact and shows every write immediately.
type Options struct {
	// DueRounding is how much the time in Overdue may differ from a head's DueAt, in
	// either direction. Default 0: exact to the millisecond.
	DueRounding time.Duration
	// MaxPayload is the largest payload of a record or a snapshot, in bytes, at least
	// 300 KB. For one byte more the backend must return store.ErrTooLarge. Default 0: no
	// limit is tested.
	MaxPayload int
	// MaxRecord is the limit of a record, if it differs. Default MaxPayload.
	MaxRecord int
	// Eventually calls check until it returns nil, or gives up and returns the last
	// error. It wraps the checks of Overdue and Records, whose results may lag. Default:
	// check is called once.
	Eventually func(check func() error) error
	// Reopen returns a backend on the data that b has stored, as a process has it that
	// starts after the first has ended. Nil: the data does not outlive the process.
	Reopen func(t *testing.T, b store.Backend) store.Backend
	// Stop returns a context under which a Commit does only its first writes, at most
	// the given number. A write is a pointer, a record or the head. The Commit then
	// fails as if its process had died: no further write reaches the store. Nil: Commit
	// is one transaction.
	Stop func(ctx context.Context, writes int) context.Context
}

// Run checks each clause of the contract in a separate subtest and calls open for each.
// The function open registers with t.Cleanup what must be closed. The backend must be
// empty at first. After that, open may return the same backend again, since each clause
// uses a separate tenant and leaves nothing due.
func (o Options) Run(t *testing.T, open func(t *testing.T) store.Backend) {
	t.Helper()
	for _, group := range [][]clause{headClauses, putClauses, commitClauses, stopClauses, limitClauses, logClauses, eventualClauses, keyClauses, pointerClauses, dueClauses, listClauses, waitingClauses, listedClauses, sharedClauses, keptClauses, eraseClauses, damageClauses, profileClauses, configClauses, usageClauses, admissionClauses} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				c.check(&probe{t: t, ctx: t.Context(), b: open(t), options: o, tenant: "storetest." + c.name})
			})
		}
	}
}

// clause is one promise of the contract.
type clause struct {
	name  string
	check func(p *probe)
}

// probe asks the backend on behalf of one clause. Its methods end the subtest
// when the backend returns an error where none is allowed.
type probe struct {
	t       *testing.T
	ctx     context.Context
	b       store.Backend
	options Options
	tenant  string
	pointed int // threads that point has made
}

func (p *probe) key(name string) core.ThreadKey {
	return core.ThreadKey{Tenant: p.tenant, Thread: name}
}

func (p *probe) head(key core.ThreadKey) thread.Head {
	p.t.Helper()
	head, err := p.b.Head(p.ctx, key)
	if err != nil {
		p.t.Fatalf("Head(%s): %v", key, err)
	}
	return head
}

// set writes a head that must be accepted.
func (p *probe) set(key core.ThreadKey, next thread.Head) {
	p.t.Helper()
	p.commit(key, store.Commit{Head: next})
}

// commit makes a Commit that must be accepted.
func (p *probe) commit(key core.ThreadKey, c store.Commit) {
	p.t.Helper()
	got, err := p.b.Commit(p.ctx, key, c)
	if err != nil {
		p.t.Fatalf("Commit(%s, version %d): %v", key, c.Head.Version, err)
	}
	if diff := cmp.Diff(store.Outcome{Written: true}, got); diff != "" {
		p.t.Fatalf("Commit(%s, version %d) must write when the stored version is one lower and nothing is taken or refused (-want +got):\n%s",
			key, c.Head.Version, diff)
	}
}

// put writes a record that must be accepted.
func (p *probe) put(key core.ThreadKey, record store.Record) {
	p.t.Helper()
	if err := p.b.Put(p.ctx, key, record); err != nil {
		p.t.Fatalf("Put(%s, %s under fence %d): %v", key, record.Name, record.Fence, err)
	}
}

// wantRecord checks what Get returns now.
func (p *probe) wantRecord(key core.ThreadKey, want store.Record) {
	p.t.Helper()
	got, ok, err := p.b.Get(p.ctx, key, want.Name)
	if err != nil {
		p.t.Fatalf("Get(%s, %s): %v", key, want.Name, err)
	}
	if !ok {
		p.t.Fatalf("Get(%s, %s) returns ok=false for a record that was put; it must be strongly consistent", key, want.Name)
	}
	if describe(got) != describe(want) {
		p.t.Errorf("Get(%s, %s)\nreturns %s\nwant    %s", key, want.Name, describe(got), describe(want))
	}
}

func (p *probe) wantNoRecord(key core.ThreadKey, name string) {
	p.t.Helper()
	got, ok, err := p.b.Get(p.ctx, key, name)
	if err != nil {
		p.t.Fatalf("Get(%s, %s): %v; a record that does not exist is ok=false and no error", key, name, err)
	}
	if ok {
		p.t.Errorf("Get(%s, %s) returns %s, which was never put", key, name, describe(got))
	}
}

// eventually checks what may lag.
func (p *probe) eventually(check func() error) {
	p.t.Helper()
	poll := p.options.Eventually
	if poll == nil {
		poll = func(check func() error) error { return check() }
	}
	if err := poll(check); err != nil {
		p.t.Error(err)
	}
}

// race calls f for 0..n-1 at the same time and waits for all of them.
func (p *probe) race(n int, f func(ctx context.Context, i int) error) {
	p.t.Helper()
	group, _ := env.System().Group(p.ctx)
	for i := range n {
		group.Go(func(ctx context.Context) error { return f(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

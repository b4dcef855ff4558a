package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// TestARunOfALaterTimeTakesNobodysPlace: else whoever may submit could keep a tenant from
// running anything for as long as runs can be put off.
func TestARunOfALaterTimeTakesNobodysPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, limited(account.Limits{ConcurrentRuns: 1}))
		later := submission("t1", "echo: later")
		later.Opening.Delay = 360 * 24 * time.Hour
		if _, err := process.Submit(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		r.wantCounters(process, "it was admitted", "1 runs, 0 tokens, 0 USD, 1 slots")
		time.Sleep(time.Minute)
		r.sweep(process)
		r.wantCounters(process, "it is for later", "1 runs, 0 tokens, 0 USD, 0 slots")
		r.submits(process, "t2", "echo: now")
		r.settle(process, submission("t2", "").Thread)
		r.wantCounters(process, "another has run", "2 runs, 220 tokens, 0 USD, 0 slots")
	})
}

// TestTheSlotOfARunWhoseRecordIsDamagedIsGivenBack, and what was charged to it stands.
func TestTheSlotOfARunWhoseRecordIsDamagedIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		limits := limited(account.Limits{ConcurrentRuns: 1})
		process := r.process("w", r.store, limits)
		receipt := r.submits(process, "t1", "echo: hello")
		r.settle(process, submission("t1", "").Thread)
		now := time.Now().UnixMilli()
		slot := store.Slot{Thread: "t1", Since: now, Tokens: 220}
		if _, _, err := r.store.Admit(t.Context(), local.Tenant, store.Admitting{Day: calendar.Day(now), Run: receipt.RunID, Slot: slot, Again: true}); err != nil {
			t.Fatal(err)
		}
		damaged := &storetest.Faulty{Backend: r.store}
		damaged.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
			record, ok, err := r.store.Get(ctx, key, name)
			if name == recordname.Run(receipt.RunID) {
				record.Payload = []byte("damage")
			}
			return record, ok, err
		}
		if _, err := r.process("s", damaged, limits).Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		r.wantCounters(process, "swept", "1 runs, 220 tokens, 0 USD, 0 slots")
	})
}

func TestChildrenHaveSoManySlots(t *testing.T) {
	r := newRig(t)
	e := env.System()
	gate, err := accounting.NewGate(accounting.GateOptions{Env: e, Store: r.store, Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	child := func(i int) error {
		_, err := gate.Admit(t.Context(), accounting.Applicant{Key: core.ThreadKey{Tenant: "acme", Thread: fmt.Sprint("child-", i)}, ID: e.NewID(), Child: true})
		return err
	}
	for i := range 128 {
		if err := child(i); err != nil {
			t.Fatalf("child %d: %v", i, err)
		}
	}
	if err := child(128); core.CodeOf(err) != core.CodeTenantLimit {
		t.Errorf("the 129th child gets %v", err)
	}
}

// TestACancelThatComesTooLateForTheQueueGivesNoSlotBack: the run that it would have taken
// out of the queue has begun meanwhile, and gives its slot back itself.
func TestACancelThatComesTooLateForTheQueueGivesNoSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, begun, over := newRig(t), make(chan struct{}), make(chan struct{})
		limits := limited(account.Limits{ConcurrentRuns: 1})
		worker := r.process("w", r.store, limits, func(c *host.Options) {
			m := c.Agents.Models["m"]
			m.Model = upfront{begun}
			c.Agents.Models["m"] = m
		})
		receipt := r.submits(worker, "t1", "tell me all")
		releases, slow := 0, &storetest.Faulty{Backend: r.store}
		slow.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			slow.OnCommit = nil
			go func() {
				defer close(over)
				hint, _ := r.queue.Receive()
				if err := worker.WorkLocal(t.Context(), hint); err != nil {
					t.Error(err)
				}
			}()
			<-begun
			return r.store.Commit(ctx, key, c)
		}
		slow.OnRelease = func(ctx context.Context, tenant string, release store.Use) (bool, error) {
			releases++
			return r.store.Release(ctx, tenant, release)
		}
		if err := r.process("c", slow, limits).CancelRun(t.Context(), local, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		if releases != 0 {
			t.Errorf("who cancels has given %d slots back, want 0", releases)
		}
		<-over
		r.wantCounters(worker, "cancelled", "1 runs, 1010 tokens, 0 USD, 0 slots")
	})
}

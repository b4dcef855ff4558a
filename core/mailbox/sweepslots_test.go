package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Tenants with slots are listed in pages, each behind the last tenant of the one before, and
// the first failure is the sweep's.
func TestASweepOfSlotsPagesBehindTheLastTenant(t *testing.T) {
	w := limited(t)
	var pages []string
	w.store.OnOccupied = func(_ context.Context, after string, limit int) (page []store.Occupied, err error) {
		pages = append(pages, fmt.Sprintf("%d behind %q", limit, after))
		first := 0
		if after != "" {
			_, _ = fmt.Sscanf(after, "t%d", &first)
		}
		for i := first + 1; i <= min(first+limit, 200); i++ {
			page = append(page, store.Occupied{Tenant: fmt.Sprintf("t%03d", i), Slots: map[core.ID]store.Slot{{1}: {Thread: "x"}}})
		}
		return page, nil
	}
	w.store.OnHead = func(_ context.Context, key core.ThreadKey) (thread.Head, error) {
		return thread.Head{}, fmt.Errorf("no connection for %s", key.Tenant)
	}
	_, err := w.Sweep(t.Context())
	if diff := cmp.Diff([]string{`100 behind ""`, `100 behind "t100"`, `100 behind "t200"`}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if want := "look at the slot of run 01000000-0000-0000-0000-000000000000 of tenant t001: read head of t001/x: no connection for t001"; err == nil || err.Error() != want {
		t.Errorf("%.300v, want %s", err, want)
	}
}

// What was charged to a run of which nothing is known to have begun is taken off.
func TestASweepTakesOffWhatADelayedRunWasCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		s := input("one", "")
		s.Opening.Delay = time.Hour
		r := w.submit(t, s)
		w.charge(t, r.RunID)
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used := w.used(t); len(used.Slots) != 0 || used.Tokens != 0 || used.Spend != 0 {
			t.Errorf("slots %v, %d tokens, %d spent", used.Slots, used.Tokens, used.Spend)
		}
	})
}

// A sweep that begins in the middle, and whose second part fails, says so.
func TestTheSecondPartOfASweepOfSlotsMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		for _, tenant := range []string{"a", "b"} {
			if _, _, err := w.store.Backend.Admit(t.Context(), tenant, store.Admitting{Run: core.ID{1}, Slot: store.Slot{Thread: "x", Since: time.Now().UnixMilli()}}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.store.OnHead = func(_ context.Context, key core.ThreadKey) (thread.Head, error) {
			if key.Tenant == "b" { // behind the first slot
				cancel()
			}
			return thread.Head{}, nil
		}
		_, _ = w.Sweep(ctx)
		w.store.OnHead = nil
		lists := 0
		w.store.OnOccupied = func(ctx context.Context, after string, limit int) ([]store.Occupied, error) {
			if lists++; lists == 2 {
				return nil, errors.New("no connection")
			}
			return w.store.Backend.Occupied(ctx, after, limit)
		}
		_, err := w.Sweep(t.Context())
		if lists != 2 || err == nil || err.Error() != "list tenants with slots: no connection" {
			t.Errorf("%v after %d lists", err, lists)
		}
	})
}

// A sweep that is paused after it has read the head does not know of what was enqueued
// since: the time that a run may take to be enqueued is over if it was over before the read.
func TestASweepThatWasPausedKeepsTheSlotOfAYoungRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited(t)
		run := core.ID{1}
		if _, _, err := w.store.Backend.Admit(t.Context(), "t", store.Admitting{Run: run, Slot: store.Slot{Thread: "x", Since: time.Now().UnixMilli()}}); err != nil {
			t.Fatal(err)
		}
		w.store.OnHead = func(_ context.Context, _ core.ThreadKey) (thread.Head, error) {
			time.Sleep(time.Hour)
			return thread.Head{}, nil
		}
		for pass, want := range []int{1, 0} { // the second one begins an hour later
			if _, err := w.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if used := w.used(t); len(used.Slots) != want {
				t.Errorf("sweep %d: slots %v, want %d", pass+1, used.Slots, want)
			}
		}
	})
}

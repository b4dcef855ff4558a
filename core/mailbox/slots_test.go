package mailbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A sweep whose time is over before it has looked at every slot leaves the rest to the
// next one, which begins there and comes round: no slot waits for more sweeps than all
// of them need.
func TestASweepOfSlotsGoesOnWhereTheLastOneEnded(t *testing.T) {
	tests := []struct {
		name   string
		slots  []int         // of each tenant
		budget time.Duration // of each sweep but the last, which has a minute
		want   []string
	}{
		{"time enough", []int{2, 1}, time.Minute, []string{"a.1 a.2 b.1", "a.1 a.2 b.1"}},
		{"half of them", []int{2, 2}, 2500 * time.Millisecond, []string{"a.1 a.2 b.1", "b.1 b.2 a.1", "a.1 a.2 b.1 b.2"}},
		{"one tenant has more than a sweep can look at", []int{1, 5, 1}, 2500 * time.Millisecond, []string{
			"a.1 b.1 b.2", "b.2 b.3 b.4", "b.4 b.5 c.1", "c.1 a.1 b.1", "b.1 b.2 b.3", "b.3 b.4 b.5 c.1 a.1 b.1 b.2 b.3 b.4 b.5",
		}},
		{"between two tenants", []int{1, 1, 1}, 1500 * time.Millisecond, []string{"a.1 b.1", "b.1 c.1", "c.1 a.1", "a.1 b.1 c.1"}},
		{"not one", []int{1, 1}, 500 * time.Millisecond, []string{"a.1", "a.1", "a.1 b.1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				now := time.Now().UnixMilli()
				for i, n := range tt.slots {
					tenant := string(rune('a' + i))
					for k := range n {
						run := core.ID{15: byte(k + 1)}
						slot := store.Slot{Thread: fmt.Sprint(tenant, ".", k+1), Since: now}
						if _, _, err := w.store.Backend.Admit(t.Context(), tenant, store.Admitting{Day: store.DayOf(now), Run: run, Slot: slot}); err != nil {
							t.Fatal(err)
						}
					}
				}
				gate, err := account.NewGate(account.GateOptions{Env: env.System(), Store: w.store, Limits: account.Tenants{Default: account.Limits{ConcurrentRuns: 8}}})
				if err != nil {
					t.Fatal(err)
				}
				box, err := mailbox.New(mailbox.Options{Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler), Limits: gate})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i := range tt.want {
					seen, budget := "", tt.budget
					if i == len(tt.want)-1 {
						budget = time.Minute
					}
					w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
						seen += " " + key.Thread
						select {
						case <-ctx.Done():
							return thread.Head{}, ctx.Err()
						case <-time.After(time.Second):
						}
						return w.store.Backend.Head(ctx, key)
					}
					ctx, cancel := context.WithTimeout(t.Context(), budget)
					_, _ = box.Sweep(ctx)
					cancel()
					got = append(got, seen[1:])
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("slots that each sweep looks at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

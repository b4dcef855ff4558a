package sim

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Two deliveries of one process claim a thread, the second when the lease of the first is
// over: what each of them does is told apart, and so is what their functions do.
func TestClaimsOfOneProcessAreToldApart(t *testing.T) {
	w := New(Config{Threads: 1})
	th := w.threads[0]
	h := w.newHost(roleStep)
	write := func(change thread.Change) {
		var id core.ID
		w.random.fill(id[:])
		next, _, err := thread.Apply(th.p.head, thread.Transition{Now: w.millis(), CommitID: id, Change: change})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := (backend{h}).Commit(h.ctx, th.p.key, store.Commit{Head: next}); err != nil || !out.Written {
			t.Errorf("%T: %+v, %v", change, out, err)
		}
	}
	claim := func() { write(thread.TakeClaim{Worker: h.name, Lease: lease.Milliseconds()}) }
	holds := map[string]bool{}
	look := func(who string) { holds[who] = th.runs.holds() }
	h.spawn(func() {
		write(thread.Enqueue{Dispatch: core.ID{1}, Run: core.ID{2}, Owner: th.user})
		look("nobody")
		h.spawn(func() {
			claim()
			look("the first")
			_ = w.sleep(h.ctx, 3*lease)
			look("the first, behind the second")
			h.spawn(func() { look("a function of the first, behind the second") })
		})
		_ = w.sleep(h.ctx, 2*lease)
		h.spawn(func() {
			claim()
			write(thread.Refence{Fence: 2})
			look("the second")
			h.spawn(func() { look("a function of the second") })
			_ = w.sleep(h.ctx, 2*lease)
		})
	})
	for len(w.events) > 0 && w.now < 200*time.Second {
		e := w.events.pop()
		w.now = e.at
		if !e.sweep {
			e.run()
		}
	}
	w.over = true
	w.unwind()
	for who, want := range map[string]bool{
		"nobody": false, "the first": true, "the first, behind the second": false, "a function of the first, behind the second": false,
		"the second": true, "a function of the second": true,
	} {
		if got, ok := holds[who]; !ok || got != want {
			t.Errorf("%s holds the claim: %t (looked %t), want %t", who, got, ok, want)
		}
	}
}

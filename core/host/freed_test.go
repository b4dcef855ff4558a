package host_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// A thread that a program in memory deletes is gone when DeleteThread returns: a tombstone
// and the pointer of its run are left, and nothing of it in the program's caches.
func TestADeletedThreadLeavesLittle(t *testing.T) {
	r, err := host.InMemory(withDelegate())
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const threads = 500
	text := strings.Repeat("x", 10_000)
	play := func(name string) {
		if _, err := r.Play(t.Context(), submission(name, text), nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.DeleteThread(t.Context(), local, name, mailbox.ChildrenDetach); err != nil {
			t.Fatal(err)
		}
	}
	play("first")
	before := heap()
	for i := range threads {
		play(fmt.Sprint("t", i))
	}
	if left := (heap() - before) / threads; left > 2_000 { // a thread that is kept has 70,000
		t.Errorf("%d bytes are left of a thread", left)
	}
	if _, err := r.Play(t.Context(), submission("t0", "hello"), nil, nil); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("a run on a deleted thread: %v", err)
	}
}

// A delete costs the same number of operations, however many other threads and child threads
// there are.
func TestADeleteCostsTheSameAmongManyThreads(t *testing.T) {
	for _, children := range []bool{false, true} {
		var want int64
		for _, others := range []int{10, 300} {
			synctest.Test(t, func(t *testing.T) {
				var operations atomic.Int64
				over := &storetest.Faulty{Backend: memory.New()}
				r := onStore(t, over, soloParts())
				for i := range others {
					s := submission(fmt.Sprint("other", i), "hello")
					if children {
						s.Opening.Parent = &mailbox.Parent{Thread: "t", Run: core.ID{1}, Call: thread.NoCall}
					}
					if _, err := r.Play(t.Context(), s, nil, nil); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := r.Play(t.Context(), submission("t", "hello"), nil, nil); err != nil {
					t.Fatal(err)
				}
				over.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
					operations.Add(1)
					return do(ctx)
				}
				if err := r.DeleteThread(t.Context(), local, "t", mailbox.ChildrenDetach); err != nil {
					t.Fatal(err)
				}
				if got := operations.Load(); want == 0 {
					want = got
				} else if got != want {
					t.Errorf("children %t: %d operations among %d threads, %d among 10", children, got, others, want)
				}
			})
		}
	}
}

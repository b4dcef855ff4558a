package memory_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// The room of a head whose run ends goes on to the next one: no head sees another's bytes.
func TestHeadsShareRoomButNoBytes(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	keys := []core.ThreadKey{{Tenant: "acme", Thread: "t1"}, {Tenant: "acme", Thread: "t2"}, {Tenant: "acme", Thread: "t3"}}
	heads := make([]thread.Head, len(keys))
	commit := func(i int, run core.ID) {
		heads[i].Version++
		heads[i].Owner = fmt.Sprint("owner ", i, " at ", heads[i].Version)
		heads[i].Run = thread.Run{ID: run}
		if out, err := s.Commit(ctx, keys[i], store.Commit{Head: heads[i]}); !out.Written || err != nil {
			t.Fatalf("commit returns %+v, %v", out, err)
		}
		for j, key := range keys {
			if got, err := s.Head(ctx, key); err != nil || cmp.Diff(heads[j].AppendBinary(nil), got.AppendBinary(nil)) != "" && heads[j].Version > 0 {
				t.Fatalf("after commit %d of %s the head of %s is %+v, %v; want %+v", heads[i].Version, keys[i].Thread, key.Thread, got, err, heads[j])
			}
		}
	}
	for range 3 {
		for i := range keys {
			commit(i, core.ID{1})
			commit(i, core.ID{1})
		}
		for i := range keys {
			commit(i, core.ID{})
		}
		for i := range keys {
			heads[i].Pending = []thread.Dispatch{{Priority: uint8(i + 1)}}
			commit(i, core.ID{})
			heads[i].Pending = nil
			commit(i, core.ID{2})
			commit(i, core.ID{})
			commit(i, core.ID{})
		}
	}
}

// A thread without a run takes little: what is counted are all bytes of the heap.
func TestAnIdleThreadTakesLittle(t *testing.T) {
	const threads, most = 2000, 450
	ctx, s := t.Context(), memory.New()
	before := liveHeap()
	for i := range threads {
		key := core.ThreadKey{Tenant: "acme", Thread: fmt.Sprint("t", i)}
		for version, run := range []core.ID{{1}, {1}, {}} {
			head := thread.Head{Version: uint64(version) + 1, Owner: "ann", Run: thread.Run{ID: run}}
			if out, err := s.Commit(ctx, key, store.Commit{Head: head}); !out.Written || err != nil {
				t.Fatalf("commit returns %+v, %v", out, err)
			}
		}
	}
	got := (liveHeap() - before) / threads
	t.Logf("%d bytes", got)
	if got > most {
		t.Errorf("a thread of three commits and no records takes %d bytes, at most %d are wanted", got, most)
	}
	_, _ = s.Head(ctx, key) // it is referred to until here
}

// liveHeap is how many bytes of the heap are referred to.
func liveHeap() int {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are empty after the second one
	runtime.ReadMemStats(&memory)
	return int(memory.HeapAlloc)
}

package host_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// readings counts what is read of a store.
type readings struct {
	*storetest.Faulty
	mu    sync.Mutex
	count map[string]int // of heads, of the log, and of other records by their first letter
}

func newReadings(of store.Backend) *readings {
	r := &readings{Faulty: &storetest.Faulty{Backend: of}, count: map[string]int{}}
	r.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		switch op.Method {
		case "Head", "Log":
			r.note(strings.ToLower(op.Method))
		case "Get":
			r.note(op.Name[:1])
		}
		return do(ctx)
	}
	return r
}

func (r *readings) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[what]++
}

// take returns what was read since the last time.
func (r *readings) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := maps.Clone(r.count)
	clear(r.count)
	return taken
}

// A stream that only follows reads the head each time it looks. It reads a
// queued input once, and the rest when the head has moved.
func TestFollowReadsWhatMayHaveChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		counting := newReadings(r.store)
		worker, reader := r.process("w", r.store), r.process("r", counting)
		if _, err := worker.Submit(t.Context(), submission("t1", "slow: 20")); err != nil {
			t.Fatal(err)
		}
		queued, err := worker.Submit(t.Context(), submission("t1", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			done <- reader.Follow(t.Context(), local, queued.RunID, host.ListenerFunc(func(core.Event) error { return nil }))
		}()
		want := func(when string, want map[string]int) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, counting.take()); diff != "" {
				t.Errorf("read %s (-want +got):\n%s", when, diff)
			}
		}
		want("at first", map[string]int{"head": 2, "R": 1, "Q": 1}) // one head to see whose run it is
		time.Sleep(5 * time.Second)
		want("in 5 s of a queue that stands still", map[string]int{"head": 10})
		hint, _ := r.queue.Receive()
		worked := make(chan error)
		go func() { worked <- worker.WorkLocal(t.Context(), hint) }()
		time.Sleep(5 * time.Second)
		want("in 5 s of another run", map[string]int{"head": 10})
		if err := <-worked; err != nil {
			t.Fatal(err)
		}
		r.settle(worker, core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := counting.take(); got["log"] != 2 || got["Q"] > 1 {
			t.Errorf("read %v until the end, want the log twice, once for the state that the run begins with, and the input at most once more", got)
		}
	})
}

// The heads of a batch are read once, before any claim.
func TestBatchReadsEachHeadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		counting := newReadings(r.store)
		process := r.process("w", counting)
		for _, id := range []string{"t1", "t2", "t3"} {
			if _, err := process.Submit(t.Context(), submission(id, "hello")); err != nil {
				t.Fatal(err)
			}
		}
		counting.take()
		for _, err := range process.WorkBatch(t.Context(), r.queue.Batch(3)) {
			if err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(map[string]int{"head": 3, "Q": 3}, counting.take()); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

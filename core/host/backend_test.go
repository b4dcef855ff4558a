package host_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// fault is what happens at one operation of a store.
type fault struct {
	name    string
	applied bool  // the operation is carried out all the same
	err     error // what the caller is told
	late    bool  // the operation is carried out two operations later
	pause   bool  // the process stands still for longer than a lease, then goes on
	crash   bool  // nothing that the process does afterwards is carried out
}

var errReset = errors.New("connection reset by peer")

// pauseTime is longer than a lease of 30 s and the time to the next sweep.
const pauseTime = 100 * time.Second

var faults = []fault{
	{name: "error before", err: errReset},
	{name: "error after", applied: true, err: errReset},
	{name: "throttled", err: store.ErrThrottled},
	{name: "given up and done later", late: true, err: errReset},
	{name: "pause longer than the lease", pause: true},
	{name: "crash before", crash: true, err: errReset},
	{name: "crash after", crash: true, applied: true, err: errReset},
}

// way is a process's way to a store: operation at fails. It counts every
// operation, also by kind.
type way struct {
	*storetest.Faulty
	fault fault
	at    int    // 0: never
	act   func() // instead of a fault: what somebody else does just before

	mu     sync.Mutex
	count  int
	kinds  map[string]int // "record": of the log
	dead   bool
	late   func() error // what the fault has left undone
	lateAt int
	asleep time.Time // nothing goes on before
}

// kinds are those that are not the method in lower case.
var kinds = map[string]string{"LogBackwards": "log", "Records": "list"}

func newWay(to store.Backend) *way {
	w := &way{Faulty: &storetest.Faulty{Backend: to}}
	w.Around, w.OnRecord = w.around, w.countRecord
	return w
}

// around is the way's [storetest.Faulty.Around]. A write that has begun is seen
// through: a context that ends stops the caller, not the store.
func (w *way) around(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
	if op.Writes() {
		ctx = context.WithoutCancel(ctx)
	}
	return w.do(cmp.Or(kinds[op.Method], strings.ToLower(op.Method)), func() error { return do(ctx) })
}

func (w *way) countRecord(op storetest.Operation, record store.Record) store.Record {
	if strings.HasPrefix(op.Method, "Log") {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kinds["record"]++
	}
	return record
}

func (w *way) do(kind string, operation func() error) error {
	w.mu.Lock()
	if w.kinds == nil {
		w.kinds = map[string]int{}
	}
	w.count++
	w.kinds[kind]++
	hit, dead := w.count == w.at && w.act == nil, w.dead
	acts := w.count == w.at && w.act != nil
	w.dead = w.dead || hit && w.fault.crash
	if hit && w.fault.pause {
		w.asleep = time.Now().Add(pauseTime)
	}
	wait, late := time.Until(w.asleep), func() error { return nil }
	if hit && w.fault.late {
		w.late, w.lateAt = operation, w.count+2
	} else if w.late != nil && w.count >= w.lateAt {
		late, w.late = w.late, nil
	}
	w.mu.Unlock()
	if dead {
		return errReset
	}
	if acts {
		w.act()
	}
	_ = late()
	if wait > 0 {
		time.Sleep(wait)
	}
	if hit && !w.fault.applied && !w.fault.pause {
		return w.fault.err
	}
	err := operation()
	if hit && err == nil {
		return w.fault.err
	}
	return err
}

// kill ends the process: nothing that it does from now on is carried out.
func (w *way) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

func (w *way) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

func (w *way) isAsleep() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.asleep)
}

func (w *way) reached() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at != 0 && w.count >= w.at
}

// watched is a store that checks every transition of a head.
type watched struct {
	*storetest.Faulty
	t    testing.TB
	mu   sync.Mutex
	last map[core.ThreadKey]thread.Head
	logs map[core.ThreadKey][][]byte // committed payloads, from sequence 1
}

func newWatched(t testing.TB) *watched {
	w := &watched{
		Faulty: &storetest.Faulty{Backend: memory.New()}, t: t,
		last: map[core.ThreadKey]thread.Head{}, logs: map[core.ThreadKey][][]byte{},
	}
	w.OnCommit = w.commit
	return w
}

func (w *watched) commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	outcome, err := w.Backend.Commit(ctx, key, c)
	if err != nil || !outcome.Written {
		return outcome, err
	}
	was, next := w.last[key], c.Head
	if next.Version != was.Version+1 || next.Fence < was.Fence || next.Epoch < was.Epoch || next.Seq < was.Seq {
		w.t.Errorf("head went from %+v to %+v", was, next)
	}
	w.last[key] = next
	if next.Erased {
		return outcome, nil
	}
	seq := uint64(0)
	for record, err := range w.Backend.Log(ctx, key, 1, next.Seq) {
		seq++
		if err != nil || record.Name != store.LogName(seq) {
			w.t.Errorf("log has %s at %d: %v", record.Name, seq, err)
		}
		if known := w.logs[key]; uint64(len(known)) < seq {
			w.logs[key] = append(known, record.Payload)
		} else if !bytes.Equal(known[seq-1], record.Payload) {
			w.t.Errorf("committed record %d changed from %s to %s", seq, known[seq-1], record.Payload)
		}
	}
	if seq != next.Seq {
		w.t.Errorf("log ends at %d, the head says %d", seq, next.Seq)
	}
	return outcome, err
}

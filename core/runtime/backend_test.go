package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
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

// faulty is a process's way to a store: operation at fails. It counts every
// operation, also by kind.
type faulty struct {
	store.Backend
	fault fault
	at    int    // 0: never
	act   func() // instead of a fault: what somebody else does just before

	mu     sync.Mutex
	count  int
	kinds  map[string]int
	dead   bool
	late   func() error // what the fault has left undone
	lateAt int
	asleep time.Time // nothing goes on before
}

func (f *faulty) do(kind string, operation func() error) error {
	f.mu.Lock()
	if f.kinds == nil {
		f.kinds = map[string]int{}
	}
	f.count++
	f.kinds[kind]++
	hit, dead := f.count == f.at && f.act == nil, f.dead
	acts := f.count == f.at && f.act != nil
	f.dead = f.dead || hit && f.fault.crash
	if hit && f.fault.pause {
		f.asleep = time.Now().Add(pauseTime)
	}
	wait, late := time.Until(f.asleep), func() error { return nil }
	if hit && f.fault.late {
		f.late, f.lateAt = operation, f.count+2
	} else if f.late != nil && f.count >= f.lateAt {
		late, f.late = f.late, nil
	}
	f.mu.Unlock()
	if dead {
		return errReset
	}
	if acts {
		f.act()
	}
	_ = late()
	if wait > 0 {
		time.Sleep(wait)
	}
	if hit && !f.fault.applied && !f.fault.pause {
		return f.fault.err
	}
	err := operation()
	if hit && err == nil {
		return f.fault.err
	}
	return err
}

// kill ends the process: nothing that it does from now on is carried out.
func (f *faulty) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *faulty) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *faulty) isAsleep() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.asleep)
}

func (f *faulty) reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at != 0 && f.count >= f.at
}

func (f *faulty) Head(ctx context.Context, key core.ThreadKey) (h thread.Head, err error) {
	err = f.do("head", func() (err error) { h, err = f.Backend.Head(ctx, key); return err })
	return h, err
}

func (f *faulty) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (o store.Outcome, err error) {
	err = f.do("commit", func() (err error) { o, err = f.Backend.Commit(context.WithoutCancel(ctx), key, c); return err })
	if err != nil {
		o = store.Outcome{}
	}
	return o, err
}

func (f *faulty) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	return f.do("put", func() error { return f.Backend.Put(context.WithoutCancel(ctx), key, r) })
}

func (f *faulty) Get(ctx context.Context, key core.ThreadKey, name string) (r store.Record, ok bool, err error) {
	err = f.do("get", func() (err error) { r, ok, err = f.Backend.Get(ctx, key, name); return err })
	return r, ok, err
}

func (f *faulty) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return f.read("log", f.Backend.Log(ctx, key, from, to))
}

func (f *faulty) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return f.read("log", f.Backend.LogBackwards(ctx, key, from, to))
}

// read counts a reading of the log, and the records that the caller takes.
func (f *faulty) read(kind string, records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := f.do(kind, func() error { return nil }); err != nil {
			yield(store.Record{}, err)
			return
		}
		for record, err := range records {
			f.mu.Lock()
			f.kinds["record"]++
			f.mu.Unlock()
			if !yield(record, err) {
				return
			}
		}
	}
}

func (f *faulty) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) (list []store.Record, err error) {
	err = f.do("list", func() (err error) {
		list, err = f.Backend.Records(ctx, key, prefix, after, limit)
		return err
	})
	return list, err
}

func (f *faulty) Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error) {
	err = f.do("pointer", func() (err error) { value, ok, err = f.Backend.Pointer(ctx, tenant, name); return err })
	return value, ok, err
}

func (f *faulty) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (due []store.Overdue, err error) {
	err = f.do("overdue", func() (err error) { due, err = f.Backend.Overdue(ctx, shard, until, after, limit); return err })
	return due, err
}

// watched is a store that checks every transition of a head.
type watched struct {
	store.Backend
	t    testing.TB
	mu   sync.Mutex
	last map[core.ThreadKey]thread.Head
	logs map[core.ThreadKey][][]byte // committed payloads, from sequence 1
}

func (w *watched) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
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

// hooked is a store whose commits a test replaces.
type hooked struct {
	store.Backend
	commit func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error)
}

func (h *hooked) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	return h.commit(ctx, key, c)
}

package storetest_test

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/thread"
)

// fault is a mistake that somebody who writes a backend may make, the clause
// that must find it and what the failure must say.
type fault struct {
	name, clause, text string
	options            storetest.Options
	backend            func(m *memory.Store) store.Backend
}

// faulty overrides single methods of a right backend.
type faulty struct {
	store.Backend
	head    func(context.Context, core.ThreadKey) (thread.Head, error)
	set     func(context.Context, core.ThreadKey, thread.Head) (thread.Head, bool, error)
	put     func(context.Context, core.ThreadKey, store.Record) error
	log     func(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error]
	pointer func(context.Context, string, string, []byte, time.Duration) ([]byte, error)
	overdue func(context.Context, int, int64, int) ([]core.ThreadKey, error)
	records func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error)
}

func (f faulty) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	if f.head != nil {
		return f.head(ctx, key)
	}
	return f.Backend.Head(ctx, key)
}

func (f faulty) CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
	if f.set != nil {
		return f.set(ctx, key, next)
	}
	return f.Backend.CompareAndSet(ctx, key, next)
}

func (f faulty) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	if f.put != nil {
		return f.put(ctx, key, r)
	}
	return f.Backend.Put(ctx, key, r)
}

func (f faulty) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	if f.log != nil {
		return f.log(ctx, key, from, to)
	}
	return f.Backend.Log(ctx, key, from, to)
}

func (f faulty) PutPointer(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) ([]byte, error) {
	if f.pointer != nil {
		return f.pointer(ctx, tenant, name, value, ttl)
	}
	return f.Backend.PutPointer(ctx, tenant, name, value, ttl)
}

func (f faulty) Overdue(ctx context.Context, shard int, until int64, limit int) ([]core.ThreadKey, error) {
	if f.overdue != nil {
		return f.overdue(ctx, shard, until, limit)
	}
	return f.Backend.Overdue(ctx, shard, until, limit)
}

func (f faulty) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	if f.records != nil {
		return f.records(ctx, key, prefix, after, limit)
	}
	return f.Backend.Records(ctx, key, prefix, after, limit)
}

var faults = []fault{
	{name: "absent head is an error", clause: "AbsentHeadIsZero", text: "not found", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, head: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			h, err := m.Head(ctx, key)
			if err == nil && !h.Exists() {
				err = thread.ErrNotFound
			}
			return h, err
		}}
	}},
	{name: "lost race does not answer the head", clause: "WrongVersionAnswersTheStoredHead", text: "must answer the stored head", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, set: func(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
			_, ok, err := m.CompareAndSet(ctx, key, next)
			return thread.Head{}, ok, err
		}}
	}},
	{name: "compare and set are two steps", clause: "OneOfRacingWritersWins", text: "16 of 16 racing writers got ok=true, want exactly 1: the comparison and the write must be one atomic step", backend: twoSteps},
	{name: "heads are cached", clause: "HeadIsReadBackAtOnce", text: "must be strongly consistent", backend: func(m *memory.Store) store.Backend {
		var first thread.Head
		return faulty{Backend: m, head: func(ctx context.Context, key core.ThreadKey) (h thread.Head, err error) {
			if !first.Exists() {
				first, err = m.Head(ctx, key)
			}
			return first, err
		}}
	}},
	{name: "tickets are lost", clause: "FullHeadRoundTrips", text: "Tickets:", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, head: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			h, err := m.Head(ctx, key)
			h.Tickets = nil
			return h, err
		}}
	}},
	{name: "context is ignored", clause: "CancelledContextIsAnError", text: "Put with a cancelled context answers the error <nil>", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, put: func(_ context.Context, key core.ThreadKey, r store.Record) error {
			return m.Put(context.Background(), key, r)
		}}
	}},
	{name: "equal bytes do not raise the fence", clause: "PutOfALogRecord", text: `leaves M#000000000007 fence=2 step=0 expires=0 payload="a"`, backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, put: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if stored, ok, _ := m.Get(ctx, key, r.Name); ok && bytes.Equal(stored.Payload, r.Payload) {
				return nil
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "a conflict is silent", clause: "PutOfACreateOnlyRecord", text: "other bytes: ErrConflict", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, put: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if _, ok, _ := m.Get(ctx, key, r.Name); ok {
				return nil
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "steps do not count", clause: "PutOfARewritableRecord", text: "equal fence, lower step stored: written", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, put: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			r.Step = 0
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "limit is not kept", clause: "TooLargeIsRefusedAtTheLimit", text: "one over the limit, answers the error <nil>, want ErrTooLarge",
		options: storetest.Options{MaxPayload: 300 << 10}, backend: func(m *memory.Store) store.Backend { return m }},
	{name: "log bound is exclusive", clause: "LogIsInOrderWithinItsBounds", text: "WithinItsBounds/t, 1, 3)", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, log: func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return m.Log(ctx, key, from, to-1)
		}}
	}},
	{name: "keys are joined with a colon", clause: "ThreadsNeverMeet", text: "colon: Head(", backend: func(m *memory.Store) store.Backend {
		join := func(key core.ThreadKey) core.ThreadKey {
			return core.ThreadKey{Tenant: "x", Thread: key.Tenant + ":" + key.Thread}
		}
		return faulty{
			Backend: m,
			head:    func(ctx context.Context, key core.ThreadKey) (thread.Head, error) { return m.Head(ctx, join(key)) },
			set: func(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
				return m.CompareAndSet(ctx, join(key), next)
			},
		}
	}},
	{name: "keys are not checked", clause: "KeysThatFailCheckAreInvalid", text: "would reach another partition", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, head: func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, nil }}
	}},
	{name: "pointer answers what was asked", clause: "PointersAreCreateOnly", text: "must answer what is stored now", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, pointer: func(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) ([]byte, error) {
			_, err := m.PutPointer(ctx, tenant, name, value, ttl)
			return value, err
		}}
	}},
	{name: "threads are due in every shard", clause: "DueThreadIsListedInItsShardOnly", text: "store.Shard(key) only", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, overdue: func(ctx context.Context, _ int, until int64, limit int) (all []core.ThreadKey, err error) {
			for shard := range store.Shards {
				keys, _ := m.Overdue(ctx, shard, until, limit)
				all = append(all, keys...)
			}
			return all, nil
		}}
	}},
	{name: "threads are due before their time", clause: "DueThreadIsListedFromItsTimeOn", text: "true, want false", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, overdue: func(ctx context.Context, shard int, until int64, limit int) ([]core.ThreadKey, error) {
			return m.Overdue(ctx, shard, until+1, limit)
		}}
	}},
	{name: "due index forgets nothing", clause: "DueTimeMovesWithTheHead", text: "true, want false", backend: func(m *memory.Store) store.Backend {
		seen := map[core.ThreadKey]int{}
		return faulty{Backend: m, overdue: func(ctx context.Context, shard int, until int64, limit int) (all []core.ThreadKey, err error) {
			keys, err := m.Overdue(ctx, shard, until, limit)
			for _, key := range keys {
				seen[key] = shard
			}
			for key, at := range seen {
				if at == shard {
					all = append(all, key)
				}
			}
			return all, err
		}}
	}},
	{name: "least overdue first", clause: "MostOverdueFirst", text: "must answer the most overdue first", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, overdue: func(ctx context.Context, shard int, until int64, limit int) ([]core.ThreadKey, error) {
			keys, err := m.Overdue(ctx, shard, until, limit)
			slices.Reverse(keys)
			return keys, err
		}}
	}},
	{name: "list starts with the name after", clause: "RecordsArePaged", text: "each after the last name of the one before", backend: func(m *memory.Store) store.Backend {
		return faulty{Backend: m, records: func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
			if after == "R#09" {
				after = "R#08"
			}
			return m.Records(ctx, key, prefix, after, limit)
		}}
	}},
}

// twoSteps compares and writes under one lock each; the 16 racing writers all
// meet between the two.
func twoSteps(m *memory.Store) store.Backend {
	const writers = 16
	var mu sync.Mutex
	var stored thread.Head
	arrived := 0
	return faulty{Backend: m, set: func(_ context.Context, _ core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
		mu.Lock()
		old := stored
		round := arrived / writers
		arrived++
		mu.Unlock()
		for met := false; !met; runtime.Gosched() {
			mu.Lock()
			met = arrived >= (round+1)*writers
			mu.Unlock()
		}
		if old.Version != next.Version-1 {
			return old, false, nil
		}
		mu.Lock()
		stored = next
		mu.Unlock()
		return thread.Head{}, true, nil
	}}
}

package storetest_test

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// fault is a mistake that somebody who writes a backend may make, the clause
// that must find it and what the failure must say.
type fault struct {
	name, clause, text string
	options            storetest.Options
	backend            func(m store.Backend) store.Backend
}

var faults = []fault{
	{name: "absent head is an error", clause: "AbsentHeadIsZero", text: "not found", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnHead: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			h, err := m.Head(ctx, key)
			if err == nil && !h.Exists() {
				err = thread.ErrNotFound
			}
			return h, err
		}}
	}},
	{name: "lost race does not return the head", clause: "WrongVersionReturnsTheStoredHead", text: "must return the stored head", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnCommit: func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			got, err := m.Commit(ctx, key, c)
			got.Head = thread.Head{}
			return got, err
		}}
	}},
	{name: "compare and set are two steps", clause: "OneOfRacingWritersWins", text: "16 of 16 racing writers got Written=true, want exactly 1: the comparison and the write must be one atomic step", backend: twoSteps},
	{name: "heads are cached", clause: "HeadIsReadBackAtOnce", text: "must be strongly consistent", backend: func(m store.Backend) store.Backend {
		var first thread.Head
		return &storetest.Faulty{Backend: m, OnHead: func(ctx context.Context, key core.ThreadKey) (h thread.Head, err error) {
			if !first.Exists() {
				first, err = m.Head(ctx, key)
			}
			return first, err
		}}
	}},
	{name: "tickets are lost", clause: "FullHeadRoundTrips", text: "Tickets:", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnHead: func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
			h, err := m.Head(ctx, key)
			h.Tickets = nil
			return h, err
		}}
	}},
	{name: "context is ignored", clause: "CancelledContextIsAnError", text: "Put with a cancelled context returns the error <nil>", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(_ context.Context, key core.ThreadKey, r store.Record) error {
			return m.Put(context.Background(), key, r)
		}}
	}},
	{name: "equal bytes do not raise the fence", clause: "PutOfALogRecord", text: `leaves M#000000000007 fence=2 version=0 expires=0 payload="a"`, backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if stored, ok, _ := m.Get(ctx, key, r.Name); ok && bytes.Equal(stored.Payload, r.Payload) {
				return nil
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "a conflict is silent", clause: "PutOfACreateOnlyRecord", text: "other bytes: ErrConflict", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if _, ok, _ := m.Get(ctx, key, r.Name); ok {
				return nil
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "versions do not count", clause: "PutOfARewritableRecord", text: "equal fence, lower version stored: written", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			r.Version = 0
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "limit is not kept", clause: "PutTakesNoMoreThanTheLimit", text: "one over the limit, returns the error <nil>, want ErrTooLarge",
		options: storetest.Options{MaxPayload: 300 << 10}, backend: func(m store.Backend) store.Backend { return m }},
	{name: "log bound is exclusive", clause: "LogIsInOrderWithinItsBounds", text: "WithinItsBounds/t, 1, 3)", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnLog: func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			return m.Log(ctx, key, from, to-1)
		}}
	}},
	{name: "keys are joined with a colon", clause: "ThreadsNeverMeet", text: "colon: Head(", backend: func(m store.Backend) store.Backend {
		join := func(key core.ThreadKey) core.ThreadKey {
			return core.ThreadKey{Tenant: "x", Thread: key.Tenant + ":" + key.Thread}
		}
		return &storetest.Faulty{
			Backend: m,
			OnHead:  func(ctx context.Context, key core.ThreadKey) (thread.Head, error) { return m.Head(ctx, join(key)) },
			OnCommit: func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				return m.Commit(ctx, join(key), c)
			},
		}
	}},
	{name: "keys are not checked", clause: "KeysThatFailCheckAreInvalid", text: "would reach another partition", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnHead: func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, nil }}
	}},
	{name: "threads are due in every shard", clause: "DueThreadIsListedInItsShardOnly", text: "its shard only", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnOverdue: func(ctx context.Context, _ int, until int64, after *store.Overdue, limit int) (all []store.Overdue, err error) {
			for shard := range store.Shards {
				due, _ := m.Overdue(ctx, shard, until, after, limit)
				all = append(all, due...)
			}
			return all, nil
		}}
	}},
	{name: "threads are due before their time", clause: "DueThreadIsListedFromItsTimeOn", text: "true, want false", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnOverdue: func(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
			return m.Overdue(ctx, shard, until+1, after, limit)
		}}
	}},
	{name: "due index forgets nothing", clause: "DueTimeMovesWithTheHead", text: "true, want false", backend: func(m store.Backend) store.Backend {
		seen := map[store.Overdue]int{}
		return &storetest.Faulty{Backend: m, OnOverdue: func(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (all []store.Overdue, err error) {
			due, err := m.Overdue(ctx, shard, until, after, limit)
			for _, o := range due {
				seen[o] = shard
			}
			for o, at := range seen {
				if at == shard {
					all = append(all, o)
				}
			}
			return all, err
		}}
	}},
	{name: "least overdue first", clause: "MostOverdueFirst", text: "must return the most overdue first", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnOverdue: func(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
			due, err := m.Overdue(ctx, shard, until, after, limit)
			slices.Reverse(due)
			return due, err
		}}
	}},
	{name: "pages of what is due start by time alone", clause: "OverdueThreadsArePaged", text: "each after the last thread of the previous page", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnOverdue: func(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (later []store.Overdue, err error) {
			due, err := m.Overdue(ctx, shard, until, nil, 1000)
			for _, o := range due {
				if after == nil || o.At > after.At {
					later = append(later, o)
				}
			}
			return later[:min(limit, len(later))], err
		}}
	}},
	{name: "due policy changes", clause: "DuePolicyIsTheSameForAll", text: "the same in every call", backend: func(m store.Backend) store.Backend {
		return &wavering{Backend: m}
	}},
	{name: "log is not reversed", clause: "LogIsReadBackwardsToo", text: "LogBackwards(storetest.", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnLogBackwards: m.Log}
	}},
	{name: "list starts with the name after", clause: "RecordsArePaged", text: "each after the last name of the one before", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnRecords: func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
			if after == "R#09" {
				after = "R#08"
			}
			return m.Records(ctx, key, prefix, after, limit)
		}}
	}},
}

// wavering has another policy for whoever asks.
type wavering struct {
	store.Backend
	asked int64
}

func (w *wavering) DuePolicy() thread.DuePolicy {
	w.asked++
	return thread.DuePolicy{Grace: w.asked}
}

// twoSteps compares and writes under one lock each; the 16 racing writers all
// meet between the two.
func twoSteps(m store.Backend) store.Backend {
	const writers = 16
	var mu sync.Mutex
	var stored thread.Head
	arrived := 0
	return &storetest.Faulty{Backend: m, OnCommit: func(_ context.Context, _ core.ThreadKey, c store.Commit) (store.Outcome, error) {
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
		if old.Version != c.Head.Version-1 {
			return store.Outcome{Head: old}, nil
		}
		mu.Lock()
		stored = c.Head
		mu.Unlock()
		return store.Outcome{Written: true}, nil
	}}
}

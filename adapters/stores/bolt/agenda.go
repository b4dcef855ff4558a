package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// agenda is what the heads of all threads wait for: their DueAt and Run.WaitsSince. It is kept
// in memory, since one process has the file open: an index in the file would be written
// with each commit, and could be damaged. The first call that needs it reads the heads,
// and from then on each commit is noted here, in the order of the commits.
type agenda struct {
	mu      sync.Mutex
	known   bool // the heads were read
	due     [store.Shards]map[core.ThreadKey]int64
	waiting map[string]map[string]int64 // Run.WaitsSince by tenant and thread
}

// note notes the head that was written.
func (a *agenda) note(key core.ThreadKey, head *store.Head) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known {
		a.set(key, head)
	}
}

// set does so under the lock.
func (a *agenda) set(key core.ThreadKey, head *store.Head) {
	if due := a.due[(store.Overdue{Key: key}).Shard()]; head.DueAt > 0 {
		due[key] = head.DueAt
	} else {
		delete(due, key)
	}
	waiting, since := a.waiting[key.Tenant], head.Run.WaitsSince
	switch {
	case since <= 0:
		delete(waiting, key.Thread)
	case waiting == nil:
		a.waiting[key.Tenant] = map[string]int64{key.Thread: since}
	default:
		waiting[key.Thread] = since
	}
}

// forget makes the next call read the heads again: it is not known which were written.
func (a *agenda) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = false
}

// readAgenda calls do with the agenda under its lock. A damaged head is omitted: calls
// for its thread return the error.
func (s *Store) readAgenda(ctx context.Context, do func(a *agenda)) error {
	a := &s.agenda
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil || a.known {
		do(a)
		return err
	}
	for shard := range a.due {
		a.due[shard] = map[core.ThreadKey]int64{}
	}
	a.waiting = map[string]map[string]int64{}
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		eachThread(tx, func(at, value []byte) {
			key, keyErr := parseHeadKey(at)
			head, headErr := decodeHead(at, value)
			if keyErr == nil && headErr == nil {
				a.set(key, &head)
			}
		})
		return nil
	})
	if err == nil {
		a.known = true
		do(a)
	}
	return err
}

// DuePolicy implements [store.Backend]: the agenda is exact.
func (s *Store) DuePolicy() store.DuePolicy { return store.DuePolicy{} }

// Overdue implements [store.Backend]. Threads that are due at the same time are in the
// order of their keys.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (due []store.Overdue, err error) {
	if shard < 0 || shard >= store.Shards {
		return nil, core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, store.Shards-1)
	}
	if err := s.db.check(); err != nil { // the sweep also notices that the file is gone
		return nil, err
	}
	err = s.readAgenda(ctx, func(a *agenda) {
		for key, at := range a.due[shard] {
			if next := (store.Overdue{Key: key, At: at}); at <= until && (after == nil || compareOverdue(next, *after) > 0) {
				due = append(due, next)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list shard %d of overdue threads: %w", shard, err)
	}
	slices.SortFunc(due, compareOverdue)
	return due[:min(len(due), max(limit, 0))], nil
}

func compareOverdue(a, b store.Overdue) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key.Tenant, b.Key.Tenant), cmp.Compare(a.Key.Thread, b.Key.Thread))
}

// Waiting implements [store.Backend].
func (s *Store) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) (list []store.Waiting, err error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	err = s.readAgenda(ctx, func(a *agenda) {
		for name, since := range a.waiting[tenant] {
			if next := (store.Waiting{Thread: name, Since: since}); after == nil || compareWaiting(next, *after) > 0 {
				list = append(list, next)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the waiting threads of %s: %w", tenant, err)
	}
	slices.SortFunc(list, compareWaiting)
	return list[:min(len(list), max(limit, 0))], nil
}

func compareWaiting(a, b store.Waiting) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Thread, b.Thread))
}

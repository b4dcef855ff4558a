package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Commit implements [store.Backend]. It checks everything before it writes anything, all
// under one lock: a refused call leaves nothing.
func (s *backend) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	if err := check(ctx, key); err != nil {
		return store.Outcome{}, err
	}
	if c.Head.Version == 0 {
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "head of %s to write has version 0, the first is 1", key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken := s.taken(key.Tenant, c.Pointers); taken != nil {
		return store.Outcome{Taken: taken}, nil
	}
	var room [4]store.Record // as many as a commit usually has
	writes := room[:0]
	for _, record := range c.Records {
		write, err := s.admit(key, record)
		if err != nil {
			return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
		}
		if write {
			writes = append(writes, record)
		}
	}
	metered, err := s.admitUsage(key.Tenant, c.Usage)
	if err != nil {
		return store.Outcome{}, fmt.Errorf("commit to %s: %w", key, err)
	}
	if s.version(key) != c.Head.Version-1 {
		stored, err := s.head(key)
		return store.Outcome{Head: stored}, err
	}
	s.write(key, c, writes)
	if metered {
		s.putUsage(key.Tenant, c.Usage)
	}
	return store.Outcome{Written: true}, nil
}

// write stores what Commit has looked at.
func (s *backend) write(key core.ThreadKey, c store.Commit, records []store.Record) {
	for _, p := range c.Pointers {
		if id := (pointer{key.Tenant, p.Name}); s.pointers[id] == nil {
			s.pointers[id] = copied(p.Value)
		}
	}
	thread := s.contents(key)
	added := 0
	for i := range records {
		if _, found := thread.find(records[i].Name); !found {
			added++
		}
	}
	places := make([]store.Record, added) // in one allocation
	for _, record := range records {
		if len(places) == 0 {
			s.put(key, record, nil) // it replaces another
		} else if s.put(key, record, &places[0]) {
			places = places[1:]
		}
	}
	s.setHead(key, thread, &c.Head)
}

// roomy is the room that a head with a run or queued input has at least.
const roomy = 256

// setHead stores a head and indexes it. A head with a run or queued input takes up to ten
// times the bytes of one without. Most threads have neither, and no room for them: that of a
// run that ends goes on to the next one, of any thread.
func (s *backend) setHead(key core.ThreadKey, thread *contents, next *store.Head) {
	idle := next.Run.ID.IsZero() && len(next.Pending) == 0
	into := thread.head // no other code has the old one
	if !idle && cap(into) < roomy {
		into, s.spare = s.spare, nil
	}
	thread.marked = 0
	thread.head, thread.version = next.AppendBinary(into[:0]), next.Version
	if idle && cap(thread.head) >= roomy {
		thread.head, s.spare = slices.Clone(thread.head), thread.head
	}
	s.indexHead(key, next.DueAt, next.Run.WaitsSince)
}

// indexHead puts a thread into the indexes, or takes it out of them; 0: it is in none.
func (s *backend) indexHead(key core.ThreadKey, due, waits int64) {
	if index := s.due[(store.Overdue{Key: key}).Shard()]; due > 0 {
		index[key] = due
	} else {
		delete(index, key)
	}
	s.indexWaiting(key, waits)
}

// taken lists those of the pointers that hold another value.
func (s *backend) taken(tenant string, pointers []store.Pointer) (taken []store.Pointer) {
	for _, p := range pointers {
		if value, ok := s.pointers[pointer{tenant, p.Name}]; ok && string(value) != string(p.Value) {
			taken = append(taken, store.Pointer{Name: p.Name, Value: copied(value)})
		}
	}
	return taken
}

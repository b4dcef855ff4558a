package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// backend implements [store.Backend].
type backend struct {
	mu       sync.Mutex
	threads  map[core.ThreadKey]*contents
	due      [store.Shards]map[core.ThreadKey]int64
	pointers map[pointer][]byte
	waiting  map[string]map[string]int64 // by tenant and thread
	lists    lists                       // nil: no list was read yet
	spare    []byte                      // room for a head, see setHead

	profiles map[string]*profiles // by tenant
	configs  map[string][]byte    // by hash
	usages   usages
	tallies  map[string]*store.Tally // by tenant
}

type pointer struct{ tenant, name string }

// contents is what one thread has: its encoded head (nil: none) and its records.
type contents struct {
	head    []byte
	version uint64          // of the head
	marked  int64           // when the head was quarantined, unix milliseconds; 0: it is not
	records []*store.Record // sorted by name
}

// New returns an empty store. It is safe for concurrent use. Backends of tests that combine
// several find one more method in it, which puts a usage record and marks its hour, as a
// Commit does before its head: PutUsage(tenant string, usage *store.Usage) error.
func New() store.Backend {
	s := &backend{
		threads: map[core.ThreadKey]*contents{}, pointers: map[pointer][]byte{},
		waiting: map[string]map[string]int64{}, profiles: map[string]*profiles{}, configs: map[string][]byte{}, tallies: map[string]*store.Tally{},
		usages: usages{},
	}
	for shard := range s.due {
		s.due[shard] = map[core.ThreadKey]int64{}
	}
	return s
}

// Head implements [store.Backend].
func (s *backend) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	if err := check(ctx, key); err != nil {
		return thread.Head{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head(key)
}

// Put implements [store.Backend].
func (s *backend) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	write, err := s.admit(key, record)
	if err != nil || !write {
		return err
	}
	s.put(key, record, new(store.Record))
	return nil
}

// Get implements [store.Backend].
func (s *backend) Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	if err := check(ctx, key); err != nil {
		return store.Record{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.threads[key]
	if c == nil {
		return store.Record{}, false, nil
	}
	at, ok := c.find(name)
	if !ok {
		return store.Record{}, false, nil
	}
	return clone(c.records[at]), true, nil
}

// Log implements [store.Backend].
func (s *backend) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.rangeLog(ctx, key, from, to, forwards)
}

// LogBackwards implements [store.Backend].
func (s *backend) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.rangeLog(ctx, key, from, to, backwards)
}

// Pointer implements [store.Backend].
func (s *backend) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	if err := checkTenant(ctx, tenant); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.pointers[pointer{tenant, name}]
	if !ok {
		return nil, false, nil
	}
	return copied(value), true, nil
}

// DuePolicy implements [store.Backend]: the index is exact.
func (s *backend) DuePolicy() thread.DuePolicy { return thread.DuePolicy{} }

// Overdue implements [store.Backend]. Threads that are due at the same time are in
// the order of their keys.
func (s *backend) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if shard < 0 || shard >= store.Shards {
		return nil, core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, store.Shards-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []store.Overdue
	for key, at := range s.due[shard] {
		o := store.Overdue{Key: key, At: at}
		if at <= until && (after == nil || compareOverdue(o, *after) > 0) {
			due = append(due, o)
		}
	}
	slices.SortFunc(due, compareOverdue)
	return due[:min(len(due), max(limit, 0))], nil
}

func compareOverdue(a, b store.Overdue) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key.Tenant, b.Key.Tenant), cmp.Compare(a.Key.Thread, b.Key.Thread))
}

// Records implements [store.Backend].
func (s *backend) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.threads[key]
	if c == nil {
		return nil, nil
	}
	var records []store.Record
	at, _ := c.find(max(prefix, after))
	for _, record := range c.records[at:] {
		if len(records) >= limit || !strings.HasPrefix(record.Name, prefix) {
			break
		}
		if record.Name > after {
			records = append(records, clone(record))
		}
	}
	return records, nil
}

// RecordsBackwards implements [store.Backend].
func (s *backend) RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.threads[key]
	if c == nil {
		return nil, nil
	}
	var records []store.Record
	for _, record := range slices.Backward(c.records) {
		switch {
		case before != "" && record.Name >= before || !strings.HasPrefix(record.Name, prefix):
			if record.Name < prefix {
				return records, nil
			}
		case len(records) >= limit:
			return records, nil
		default:
			records = append(records, clone(record))
		}
	}
	return records, nil
}

// Erase implements [store.Backend].
func (s *backend) Erase(ctx context.Context, key core.ThreadKey, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := key.Check(); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, core.Errorf(core.CodeInvalid, "erase %d records, at least 1 is allowed", limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.threads[key]
	if c == nil {
		return 0, nil
	}
	n := min(limit, len(c.records))
	for _, record := range c.records[:n] {
		s.lists.remove(key, record)
		*record = store.Record{} // it may lie beside others, see write
	}
	if c.records = slices.Delete(c.records, 0, n); len(c.records) == 0 {
		c.records = nil // with its room
	}
	return n, nil
}

// head decodes the stored head; the caller holds the lock.
func (s *backend) head(key core.ThreadKey) (thread.Head, error) {
	c := s.threads[key]
	if c == nil || c.head == nil {
		return thread.Head{}, nil
	}
	h, err := thread.Decode(c.head)
	if core.CodeOf(err) == core.CodeCorrupt {
		return thread.Head{}, &store.DamagedError{Key: key, Quarantined: c.marked, Cause: err}
	}
	return h, err
}

// version is that of the stored head, 0 of none; the caller holds the lock.
func (s *backend) version(key core.ThreadKey) uint64 {
	if c := s.threads[key]; c != nil {
		return c.version
	}
	return 0
}

// contents makes the thread's place if it has none; the caller holds the lock.
func (s *backend) contents(key core.ThreadKey) *contents {
	c := s.threads[key]
	if c == nil {
		c = &contents{records: make([]*store.Record, 0, 12)}
		s.threads[key] = c
	}
	return c
}

// admit looks whether a record may be written; the caller holds the lock.
func (s *backend) admit(key core.ThreadKey, record store.Record) (write bool, err error) {
	var stored *store.Record
	if c := s.threads[key]; c != nil {
		if at, ok := c.find(record.Name); ok {
			stored = c.records[at]
		}
	}
	return record.Admit(stored)
}

// find returns where the record of a name is, or belongs.
func (c *contents) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(c.records, name, func(r *store.Record, name string) int { return strings.Compare(r.Name, name) })
}

// put stores a record, at the given place unless it replaces another, and reports whether
// it took the place; the caller holds the lock.
func (s *backend) put(key core.ThreadKey, record store.Record, place *store.Record) (taken bool) {
	c := s.contents(key)
	record.Payload = kept(record.Payload)
	at, found := c.find(record.Name)
	if found {
		s.lists.remove(key, c.records[at])
		*c.records[at] = record // no other code has the old one
	} else {
		*place = record
		c.records = slices.Insert(c.records, at, place)
	}
	s.lists.add(key, c.records[at])
	return !found
}

func check(ctx context.Context, key core.ThreadKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return key.Check()
}

func checkTenant(ctx context.Context, tenant string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return core.CheckName("tenant", tenant)
}

func clone(stored *store.Record) store.Record {
	r := *stored
	r.Payload = copied(r.Payload)
	return r
}

// kept is a payload as it is stored: the caller's, which nobody changes any more, but
// without the room behind it where there is much of it.
func kept(payload []byte) []byte {
	if payload == nil || cap(payload)-len(payload) > len(payload)/8 {
		return copied(payload)
	}
	return payload
}

// copied never returns nil, so that a value of no bytes is still a value.
func copied(b []byte) []byte { return append([]byte{}, b...) }

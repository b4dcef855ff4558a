package checkpoint

import (
	"context"
	"errors"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/store"
)

// Store is what a [Reader] reads.
type Store interface {
	threadlog.Log
	Get(ctx context.Context, key core.ThreadKey, name string) (record store.Record, ok bool, err error)
	Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error)
}

// Options configures a [Reader]. Env, Store and Log are required.
type Options struct {
	Env     *env.Env
	Store   Store
	Records thread.Records // the schemas that the program reads
	Log     *slog.Logger
	// Window is the size of the kept part of a conversation if no record has a
	// turn's window, in tokens; 0: the default of window.Newest.
	Window    window.Newest
	CacheSize int // bytes of Conversations that are kept in memory; 0: 64 MiB
}

const defaultCacheSize = 64 << 20

// Reader reads threads, and has the cache of its process. It is safe for concurrent use.
type Reader struct {
	env     *env.Env
	store   Store
	records thread.Records
	log     *slog.Logger
	old     window.Newest
	cache   *cache
}

// New returns a Reader with an empty cache.
func New(o Options) *Reader {
	if o.CacheSize == 0 {
		o.CacheSize = defaultCacheSize
	}
	return &Reader{env: o.Env, store: o.Store, records: o.Records, log: o.Log, old: o.Window, cache: newCache(o.CacheSize)}
}

// At names the thread to read, and its end: nothing after the head's sequence is
// read.
type At struct {
	Key  core.ThreadKey
	Head *thread.Head
	// Run and Step are those of the step that reads, for the log.
	Run  core.ID
	Step int
	// Known is what the step knows of the thread, from which a summary is taken instead of
	// being read again; nil: nothing.
	Known *Conversation
}

// warn logs what the reader survives.
func (r *Reader) warn(ctx context.Context, at At, text string, attrs ...any) {
	r.log.WarnContext(ctx, text, append([]any{"tenant", at.Key.Tenant, "thread", at.Key.Thread, "run", at.Run, "step", at.Step}, attrs...)...)
}

// Cached returns the kept part of a thread: a prefix of the log that the head
// covers; nil: nothing is kept. All of it is committed, by this process or another.
func (r *Reader) Cached(key core.ThreadKey, head *thread.Head) *Conversation {
	return r.cache.get(key, head)
}

// Keep puts a Conversation into the cache. It must not change any more.
func (r *Reader) Keep(key core.ThreadKey, c *Conversation) { r.cache.put(key, c) }

// Drop removes a thread from the cache.
func (r *Reader) Drop(key core.ThreadKey) { r.cache.drop(key) }

// Extend returns the Conversation after a commit, under a summary; nil: none. It
// folds the entries as a cold read would, instead of taking over the step's own state, so
// that warm and cold cannot drift apart. said are the step's messages, whose array is
// shared where the entries say the same. An error means that an entry does not fit what is
// before it: c stays what is known, and the log is to be read.
func (r *Reader) Extend(c *Conversation, entries []thread.Entry, said List[core.Message], summary *Summary) (*Conversation, error) {
	b := build(c)
	b.ahead = said
	for i := range entries {
		if err := b.add(&entries[i]); err != nil {
			return nil, err
		}
	}
	next := b.done(r.old)
	next.Under(summary)
	return next, nil
}

// CatchUp returns the thread in the state of its head, from a Conversation that is
// cached: it reads the records that other processes have committed since. It does
// not change the cached one, for other readers. If they superseded a part of it,
// the window starts before it, and the thread is read again.
func (r *Reader) CatchUp(ctx context.Context, at At, cached *Conversation) (*Conversation, error) {
	if cached.Seq == at.Head.Seq {
		return cached, nil
	}
	if cached.Summary.Covers() > at.Head.Summary { // the messages that it replaced are to be read again
		return r.Read(ctx, at, at.Head.Seq)
	}
	entries, err := threadlog.Read(ctx, r.store, r.records, at.Key, cached.Seq+1, at.Head.Seq)
	if err != nil {
		return nil, err
	}
	// Usually nothing, or what a step of another process has committed: the log is
	// read forwards from where the cache ends, and no snapshot is needed.
	b := build(cached)
	for i := range entries {
		if err := b.add(&entries[i]); err != nil {
			return nil, err
		}
	}
	if b.c.short {
		return r.Read(ctx, at, at.Head.Seq)
	}
	s := cached.Summary
	if s.Covers() < at.Head.Summary {
		if s, err = r.ReadSummary(ctx, at.Key, at.Head.Summary); err != nil {
			return nil, err
		}
	}
	c := b.done(r.old)
	c.Under(s)
	return c, nil
}

// Read reads a thread that is not cached, as it was after a sequence: its state from the
// stored snapshot, and the log from its end back to where both the window and the snapshot
// begin. How much that is does not show in what the step writes: window and state are
// those of a process that has read everything.
//
// The snapshot and the log's end are read at the same time, since the end is needed in any
// case; the rest waits for both, one range after the other.
func (r *Reader) Read(ctx context.Context, at At, seq uint64) (*Conversation, error) {
	var from snapshot
	summed, floor := (*Summary)(nil), at.Head.Summary
	if floor > seq { // which one was in force then, its successors say
		var err error
		if summed, err = r.summaryAt(ctx, at, seq); err != nil {
			return nil, err
		}
		floor = summed.Covers()
	}
	t, sum := newTail(seq, floor, r.old), uint32(0)
	if seq == at.Head.Seq { // what ends before has its checksum in a turn that is not read
		sum = at.Head.TailSum
	}
	log := threadlog.NewBackwards(r.store, r.records, at.Key, seq, sum)
	group, shared := r.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		from, err = r.readSnapshot(ctx, at, seq)
		return err
	})
	if floor > 0 && summed == nil {
		group.Go(func(ctx context.Context) (err error) {
			summed, err = r.summaryAt(ctx, at, seq)
			return err
		})
	}
	err := t.read(shared, log, min(FirstTail, max(seq-floor, 1)))
	if err := errors.Join(group.Wait(), err); err != nil {
		return nil, err
	}
	for t.missing(from.asOf) > 0 {
		if err := t.read(ctx, log, t.missing(from.asOf)); err != nil {
			return nil, err
		}
	}
	c, err := foldTail(at.Head.Incarnation, from, t, r.old)
	if err != nil {
		return nil, err
	}
	c.Under(summed)
	return c, nil
}

// foldTail folds what a cold read has read.
func foldTail(incarnation uint64, from snapshot, t *tail, old window.Newest) (*Conversation, error) {
	first, entries := t.from(from.asOf)
	b := buildFrom(from, first-1)
	b.c.incarnation = incarnation
	messages := 0
	for i := range entries {
		if entries[i].Message != nil {
			messages++
		}
	}
	b.c.Messages, b.c.Places = listFor[core.Message](messages), listFor[window.Place](messages)
	// A value may be newer than its manifest: patches that it has already are
	// skipped, key by key, until the fold reaches the sequence of the value.
	from.skipUntil(&b.fold, &b.c.Seq)
	for i := range entries {
		if b.c.Seq < from.asOf { // its state is in the snapshot
			b.c.Seq++
			b.keep(&entries[i])
			continue
		}
		if err := b.add(&entries[i]); err != nil {
			return nil, err
		}
	}
	if m := b.c.Opening.Message; m != nil { // it would keep the messages that were read with it in memory
		b.c.Opening.Message = new(*m)
	}
	b.fold.Skip, b.c.short = nil, false // the tail went as far back as the window
	return b.done(old), nil
}

// Package threadlog reads the log of a thread record by record, and tells where it has a
// gap or was superseded. [Backwards] uses the cheaper read of a store, and verifies it.
package threadlog

import (
	"context"
	"fmt"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Log is what is read of a store: see [store.Backend].
type Log interface {
	Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error]
	LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error]
}

// Entry is an entry of the log with its place there.
type Entry struct {
	thread.Entry
	Seq uint64
}

// Read reads the log from..to and checks that it has no gap.
func Read(ctx context.Context, log Log, records thread.Records, key core.ThreadKey, from, to uint64) ([]thread.Entry, error) {
	if from > to {
		return nil, nil
	}
	entries := make([]thread.Entry, 0, min(to-from+1, 1024)) // to is read from storage: it does not size memory
	for entry, err := range Entries(ctx, log, records, key, from, to) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry.Entry)
	}
	return entries, nil
}

// Entries goes through the log from..to, one entry at a time: who stops early has
// read little more than it was given. A gap is [store.ErrCorrupt], also at the end. An
// error is the last that it yields.
func Entries(ctx context.Context, log Log, records thread.Records, key core.ThreadKey, from, to uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if from > to {
			return
		}
		next, decoder := from, records.Entries()
		for record, err := range log.Log(ctx, key, from, to) {
			e, err := logEntry(decoder, key, record, next, err)
			if !yield(e, err) || err != nil {
				return
			}
			next++
		}
		if next != to+1 {
			yield(Entry{}, fmt.Errorf("log of %s ends at %d, the head says %d: %w", key, next-1, to, store.ErrCorrupt))
		}
	}
}

// EntriesBackwards is Entries from the newest to the oldest.
func EntriesBackwards(ctx context.Context, log Log, records thread.Records, key core.ThreadKey, from, to uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if from > to {
			return
		}
		next, decoder := to, records.Entries()
		for record, err := range log.LogBackwards(ctx, key, from, to) {
			e, err := logEntry(decoder, key, record, next, err)
			if !yield(e, err) || err != nil {
				return
			}
			next--
		}
		if next != from-1 {
			yield(Entry{}, fmt.Errorf("log of %s begins at %d, and not at %d: %w", key, next+1, from, store.ErrCorrupt))
		}
	}
}

// logEntry decodes a record that belongs at a sequence, unless reading it failed.
func logEntry(decoder *thread.EntryReader, key core.ThreadKey, record store.Record, seq uint64, failed error) (e Entry, err error) {
	if failed != nil {
		return e, fmt.Errorf("read log of %s: %w", key, failed)
	}
	if at, ok := record.LogSeq(); !ok || at != seq {
		return e, fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", key, record.Name, seq, store.ErrCorrupt)
	}
	e.Seq = seq
	if e.Entry, err = decoder.Decode(record.Payload); err != nil {
		return e, fmt.Errorf("log of %s at %d: %w", key, seq, err)
	}
	return e, nil
}

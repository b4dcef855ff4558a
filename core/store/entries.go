package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// LogEntry is an entry of the log with its place there.
type LogEntry struct {
	thread.Entry
	Seq  uint64
	Size int // bytes of its record
}

// Entries goes through the log from..to, one entry at a time: who stops early has
// read little more than it was given. A gap is [ErrCorrupt], also at the end. An
// error is the last that it yields.
func Entries(ctx context.Context, threads Threads, records thread.Records, key core.ThreadKey, from, to uint64) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		if from > to {
			return
		}
		next := from
		for record, err := range threads.Log(ctx, key, from, to) {
			e, err := logEntry(records, key, record, next, err)
			if !yield(e, err) || err != nil {
				return
			}
			next++
		}
		if next != to+1 {
			yield(LogEntry{}, fmt.Errorf("log of %s ends at %d, the head says %d: %w", key, next-1, to, ErrCorrupt))
		}
	}
}

// EntriesBackwards is Entries from the newest to the oldest.
func EntriesBackwards(ctx context.Context, threads Threads, records thread.Records, key core.ThreadKey, from, to uint64) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		if from > to {
			return
		}
		next := to
		for record, err := range threads.LogBackwards(ctx, key, from, to) {
			e, err := logEntry(records, key, record, next, err)
			if !yield(e, err) || err != nil {
				return
			}
			next--
		}
		if next != from-1 {
			yield(LogEntry{}, fmt.Errorf("log of %s begins at %d, and not at %d: %w", key, next+1, from, ErrCorrupt))
		}
	}
}

// logEntry decodes a record that belongs at a sequence, unless reading it failed.
func logEntry(records thread.Records, key core.ThreadKey, record Record, seq uint64, failed error) (e LogEntry, err error) {
	if failed != nil {
		return e, fmt.Errorf("read log of %s: %w", key, failed)
	}
	if at, ok := LogSeq(record.Name); !ok || at != seq {
		return e, fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", key, record.Name, seq, ErrCorrupt)
	}
	e.Seq, e.Size = seq, len(record.Payload)
	if e.Entry, err = records.DecodeEntry(record.Payload); err != nil {
		return e, fmt.Errorf("log of %s at %d: %w", key, seq, err)
	}
	return e, nil
}

package host

import (
	"context"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// source is what a follower reads of its run, and all that it reads. Each method is given
// the head that vouches for what is read.
type source interface {
	// Run reads the run's record as the head has it; ok is false if there is no such run.
	Run(ctx context.Context, head thread.Head) (record core.Run, ok bool, err error)
	// Entries reads the thread's log from..to, one record at a time, as threadlog.Entries does.
	Entries(ctx context.Context, from, to uint64) iter.Seq2[threadlog.Entry, error]
	// Open reads the results of the calls that the head's open round marks done, in call
	// order and one at a time, then the head's tickets with their decisions. An error is
	// the last that it yields.
	Open(ctx context.Context, head thread.Head) iter.Seq2[openItem, error]
	// State reads the thread's state after the record at a sequence, and the run that the
	// state is of; ok is false if that would take too many reads.
	State(ctx context.Context, head thread.Head, seq uint64) (now state.Snapshot, of core.ID, ok bool, err error)
	// Chunks lists event chunks with a prefix after a name, at most chunksAtOnce.
	Chunks(ctx context.Context, prefix, after string) ([]store.Record, error)
}

// openItem is a result of an open round, or a ticket of one.
type openItem struct {
	result openResult   // counts if ticket is nil
	ticket *core.Ticket // with its decision, if there is one
}

// chunksAtOnce is the largest number of chunks in one read.
const chunksAtOnce = 32

// storedRun is the source of one run, over the store.
type storedRun struct {
	reads         *reader
	mailbox       *mailbox.Service
	states        *checkpoint.Reader
	key           core.ThreadKey
	run, dispatch core.ID // dispatch finds a run without a record; zero: the run has one
}

// Run implements source.
func (s *storedRun) Run(ctx context.Context, head thread.Head) (core.Run, bool, error) {
	return s.mailbox.Run(ctx, s.key, head, s.run, s.dispatch)
}

// Entries implements source.
func (s *storedRun) Entries(ctx context.Context, from, to uint64) iter.Seq2[threadlog.Entry, error] {
	return threadlog.Entries(ctx, s.reads.store, s.reads.records, s.key, from, to)
}

// Open implements source.
func (s *storedRun) Open(ctx context.Context, head thread.Head) iter.Seq2[openItem, error] {
	return func(yield func(openItem, error) bool) {
		for result, err := range s.reads.openResults(ctx, s.key, head) {
			if !yield(openItem{result: result}, err) || err != nil {
				return
			}
		}
		tickets, err := s.mailbox.Tickets(ctx, s.key, head)
		if err != nil {
			yield(openItem{}, err)
			return
		}
		for i := range tickets {
			if !yield(openItem{ticket: &tickets[i]}, nil) {
				return
			}
		}
	}
}

// State implements source.
func (s *storedRun) State(ctx context.Context, head thread.Head, seq uint64) (state.Snapshot, core.ID, bool, error) {
	return s.states.StateAt(ctx, s.key, head, seq, s.run)
}

// Chunks implements source.
func (s *storedRun) Chunks(ctx context.Context, prefix, after string) ([]store.Record, error) {
	return s.reads.store.Records(ctx, s.key, prefix, after, chunksAtOnce)
}

// entryAt reads one record of the log.
func entryAt(ctx context.Context, s source, seq uint64) (thread.Entry, error) {
	for entry, err := range s.Entries(ctx, seq, seq) {
		return entry.Entry, err
	}
	return thread.Entry{}, nil // never: a gap is an error of Entries
}

package threadlog

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

const (
	// further is how many records beyond the wanted ones an eventual read takes: the oldest
	// wanted record is often an input, and the turn before it has its segment's beginning.
	further = 2
	// untilTurn is how many records are read strongly at first where no checksum is known: a
	// turn with one is rarely further away.
	untilTurn = 8
)

// Backwards goes through a log from its end to its beginning, a range at a time. It uses the
// cheaper read of a [store.EventualLog], and returns a record only when the checksum of its
// segment matches: see [thread.NextSum]. It reads records again strongly that do not match or
// are missing, and no others. It is for one goroutine.
type Backwards struct {
	log      Log
	eventual store.EventualLog // nil: the log has no cheaper read, and nothing is verified
	decoder  *thread.EntryReader
	key      core.ThreadKey
	next     uint64 // sequence of the next entry that is returned
	// sum is the checksum of the segment that next is in; 0: it is not known, so that the
	// segment is read strongly. sums are those of its records from its end to next, as far as
	// they were returned, newest first.
	sum  uint32
	sums []uint32
	// strong is how many records the next strong read without a checksum takes, at most.
	strong uint64
}

// NewBackwards returns the way back from a sequence. sum is the checksum of the log's segment
// that ends there, such as the head's TailSum for its Seq; 0: it is not known.
func NewBackwards(log Log, records thread.Records, key core.ThreadKey, seq uint64, sum uint32) *Backwards {
	b := &Backwards{log: log, decoder: records.Entries(), key: key, next: seq, sum: sum, strong: untilTurn}
	b.eventual, _ = log.(store.EventualLog)
	return b
}

// Abridge makes older entries lack what [thread.EntryReader.Abridge] says, as far as they are
// not decoded yet.
func (b *Backwards) Abridge() { b.decoder.Abridge() }

// Older goes through the next n older entries, and maybe some that are older still; fewer
// when the log begins before that. A gap is [store.ErrCorrupt], and so is a record that does
// not match its checksum in a strong read either. An error is the last that it yields. After
// an error, and after a caller that stopped early, there is no way on.
func (b *Backwards) Older(ctx context.Context, n uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		goal := b.next - min(n, b.next) // everything after it is wanted
		for b.next > goal {
			from := goal + 1
			if b.eventual != nil && b.sum != 0 {
				more, gap := b.read(ctx, goal-min(further, goal)+1, yield)
				if !more {
					return
				}
				if b.next <= goal || b.sum == 0 {
					continue
				}
				from = max(from, gap)
			} else if b.eventual != nil {
				from = max(from, b.next-min(b.strong, b.next)+1)
				b.strong = b.next
			}
			if !b.reread(ctx, from, yield) {
				return
			}
		}
	}
}

// read reads the log from a sequence on eventually consistent, and yields each segment that
// matches its checksum. It ends at the first one that does not, or whose checksum is not
// known. doubtful is the sequence down to which the records after it are to be read again
// if they are wanted: it is of the record that is missing or of the segment's oldest, or from.
// more is false after an error and when the caller wants no more.
func (b *Backwards) read(ctx context.Context, from uint64, yield func(Entry, error) bool) (more bool, doubtful uint64) {
	var held []Entry // of the segment, newest first, until its turn is read
	sums := b.sums
	for record, err := range b.eventual.LogBackwardsEventually(ctx, b.key, from, b.next) {
		seq := b.next - uint64(len(held))
		e, err := logEntry(b.decoder, b.key, record, seq, err)
		if err != nil {
			// What is wrong with an old version says nothing of the present one.
			if outdated(err) {
				return true, seq
			}
			yield(Entry{}, err)
			return false, 0
		}
		held, sums = append(held, e), append(sums, thread.PayloadSum(record.Payload))
		if !e.Turn() && seq > 1 {
			continue
		}
		if joined(sums) != b.sum {
			return true, seq
		}
		b.begin(&e.Entry)
		for i := range held {
			b.next--
			if !yield(held[i], nil) {
				return false, 0
			}
		}
		if held, sums = held[:0], nil; b.sum == 0 {
			break
		}
	}
	return true, from
}

// reread reads the log from a sequence on strongly, and yields each entry.
func (b *Backwards) reread(ctx context.Context, from uint64, yield func(Entry, error) bool) (more bool) {
	for record, err := range b.log.LogBackwards(ctx, b.key, from, b.next) {
		e, err := logEntry(b.decoder, b.key, record, b.next, err)
		if err == nil && b.eventual != nil {
			err = b.verify(&e, record.Payload)
		}
		if err != nil {
			yield(Entry{}, err)
			return false
		}
		b.next--
		if !yield(e, nil) {
			return false
		}
	}
	if b.next >= from {
		yield(Entry{}, fmt.Errorf("log of %s has nothing at %d: %w", b.key, b.next, store.ErrCorrupt))
		return false
	}
	return true
}

// verify takes a record that was read strongly. With the oldest one of a segment whose
// checksum is known, the segment must match.
func (b *Backwards) verify(e *Entry, payload []byte) error {
	b.sums = append(b.sums, thread.PayloadSum(payload))
	if !e.Turn() && e.Seq > 1 {
		return nil
	}
	if got := joined(b.sums); b.sum != 0 && got != b.sum {
		return fmt.Errorf("log of %s from %d to %d has the checksum %08x, want %08x: %w", b.key, e.Seq, e.Seq+uint64(len(b.sums))-1, got, b.sum, store.ErrCorrupt)
	}
	b.begin(&e.Entry)
	return nil
}

// begin goes on to the segment before the one that an entry begins.
func (b *Backwards) begin(e *thread.Entry) {
	b.sums, b.sum, b.strong = nil, 0, untilTurn
	if e.Turn() {
		b.sum = e.Sum
	}
}

// joined is the checksum of a segment, from those of its records, newest first.
func joined(sums []uint32) (sum uint32) {
	for _, record := range slices.Backward(sums) {
		sum = thread.JoinSum(sum, record)
	}
	return sum
}

// outdated reports whether an old version of a record may be the reason for an error.
func outdated(err error) bool {
	return core.CodeOf(err) == core.CodeCorrupt || core.CodeOf(err) == core.CodeSchema
}

package memory

import (
	"context"
	"iter"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// direction is the order in which a log is read.
type direction bool

const (
	forwards  direction = false
	backwards direction = true
)

// rangeLog takes the lock once a record, so that none is held while the
// caller's loop runs and nothing is copied that the caller does not reach.
func (s *backend) rangeLog(ctx context.Context, key core.ThreadKey, from, to uint64, d direction) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := check(ctx, key); err != nil {
			yield(store.Record{}, err)
			return
		}
		first, last := from, min(to, thread.MaxSeq)
		for first <= last {
			record, seq, ok := s.nearest(key, first, last, d)
			if !ok || !yield(record, nil) {
				return
			}
			switch {
			case d == forwards:
				first = seq + 1
			case seq == 0: // there is nothing before it
				return
			default:
				last = seq - 1
			}
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, err)
				return
			}
		}
	}
}

// nearest finds the first log record of a range, or the last one.
func (s *backend) nearest(key core.ThreadKey, first, last uint64, d direction) (record store.Record, seq uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.threads[key]
	if c == nil {
		return store.Record{}, 0, false
	}
	at, _ := c.find(store.LogName(first))
	if d == backwards {
		var found bool
		if at, found = c.find(store.LogName(last)); !found {
			at-- // to the name before its place
		}
	}
	if at < 0 || at >= len(c.records) {
		return store.Record{}, 0, false
	}
	seq, ok = c.records[at].LogSeq()
	if !ok || seq < first || seq > last {
		return store.Record{}, 0, false
	}
	return clone(c.records[at]), seq, true
}

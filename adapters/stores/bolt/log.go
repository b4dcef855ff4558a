package bolt

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// lastSeq is the last sequence that a log record's name can hold.
const lastSeq = 999_999_999_999

// Log reads at most so many records in one transaction, and stops at the first
// one with which they have so many bytes. LogBackwards begins with few, since
// its caller may leave early, and doubles them.
const (
	logPortion      = 256
	logPortionBytes = 1 << 20
	backwardsFirst  = 8
)

// Log implements [store.Backend]. It reads in portions, so that no transaction
// is open while the caller's loop runs.
func (s *Store) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	part := span{prefix: "M#", first: store.LogName(from), last: store.LogName(min(to, lastSeq)), limit: logPortion}
	return s.portions(ctx, key, part, func(part span, end string) span {
		part.first = end + separator // the first name after it
		return part
	})
}

// LogBackwards implements [store.Backend].
func (s *Store) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	part := span{prefix: "M#", first: store.LogName(from), last: store.LogName(min(to, lastSeq)), limit: backwardsFirst, backwards: true}
	return s.portions(ctx, key, part, func(part span, end string) span {
		part.last, part.before = end, true
		part.limit = min(2*part.limit, logPortion)
		return part
	})
}

// portions reads a span one part after the other; next returns the rest of the span after
// the name where a part ended.
func (s *Store) portions(ctx context.Context, key core.ThreadKey, whole span, next func(part span, end string) span) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var m memory
		for part, more := whole, true; more; {
			var records []store.Record
			var err error
			records, more, err = s.scan(ctx, key, part, &m)
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, record := range records {
				if !yield(record, nil) {
					return
				}
			}
			if more {
				part = next(part, records[len(records)-1].Name)
			}
		}
	}
}

// span is a part of a thread's records in order of name.
type span struct {
	prefix    string
	first     string // the first name
	last      string // the last name; empty: no bound
	before    bool   // the last name itself is excluded
	limit     int
	whole     bool // logPortionBytes does not end it
	backwards bool // from the last name, which must be there, to the first
}

// memory is what a span is read into. That of one part serves for the next one, too.
type memory struct {
	records  []store.Record
	payloads payloads
}

func (p *span) has(name string) bool {
	return name != "" && name >= p.first && (p.last == "" || name < p.last || name == p.last && !p.before)
}

// scan reads a span; more reports that the limit ended it. The next scan into the same memory
// overwrites the list, but not what its records refer to.
func (s *Store) scan(ctx context.Context, key core.ThreadKey, part span, m *memory) (records []store.Record, more bool, err error) {
	if err := key.Check(); err != nil {
		return nil, false, err
	}
	if part.last != "" && part.first > part.last {
		return nil, false, ctx.Err()
	}
	thread, prefix, now := recordKey(key, ""), recordKey(key, part.prefix), s.now().Unix()
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		records, more = m.records[:0], false
		size := 0
		at, value, step := part.begin(tx.Bucket(threadsBucket).Cursor(), key)
		for ; bytes.HasPrefix(at, prefix); at, value = step() {
			name := nameOf(thread, at)
			if !part.has(name) {
				return nil
			}
			if len(records) >= part.limit || size >= logPortionBytes && !part.whole {
				more = len(records) > 0
				return nil
			}
			stored, err := openItem(at, value)
			if err != nil {
				return fmt.Errorf("record %s: %w", name, err)
			}
			if !stored.expired(now) {
				size += len(stored.payload)
				stored.payload = m.payloads.copied(stored.payload)
				records = append(records, stored.record(name))
			}
		}
		return nil
	})
	m.records = records
	if err != nil {
		return nil, false, fmt.Errorf("read records of %s: %w", key, err)
	}
	return records, more, nil
}

// begin finds the span's first entry in the direction that it is read in. The head, which
// has no name, lies before all of them.
func (p *span) begin(cursor *bbolt.Cursor, key core.ThreadKey) (at, value []byte, step func() (at, value []byte)) {
	if !p.backwards {
		first := recordKey(key, max(p.prefix, p.first, "\x00"))
		at, value = cursor.Seek(first)
		return at, value, cursor.Next
	}
	end := recordKey(key, p.last)
	if !p.before {
		end = append(end, 0) // the first key after it
	}
	if at, _ = cursor.Seek(end); at == nil {
		at, value = cursor.Last() // every entry is before end
	} else {
		at, value = cursor.Prev()
	}
	return at, value, cursor.Prev
}

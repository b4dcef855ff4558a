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

// Put implements [store.Threads].
func (s *Store) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	if err := key.Check(); err != nil {
		return err
	}
	if size := len(record.Payload); size > s.maxPayload {
		return core.Errorf(core.CodeTooLarge, "record %s of %s has %d bytes, at most %d are allowed", record.Name, key, size, s.maxPayload)
	}
	at := recordKey(key, record.Name)
	if len(at) > bbolt.MaxKeySize/2 { // the rest is for the index
		return core.Errorf(core.CodeInvalid, "name of record %q is %d bytes long", core.Excerpt(record.Name), len(record.Name))
	}
	next := item{record.Fence, record.Step, record.Expires, record.Payload}
	value := next.encode()
	err := s.update(ctx, func(tx *bbolt.Tx) (bool, error) {
		old, err := readItem(tx.Bucket(recordsBucket), at)
		if err != nil {
			return false, fmt.Errorf("record %s: %w", record.Name, err)
		}
		var stored *store.Record
		if old != nil && !old.expired(s.now().Unix()) {
			r := old.record(record.Name)
			stored = &r
		}
		if write, err := store.Admit(stored, record); err != nil || !write {
			return false, err
		}
		return true, writeItem(tx, expiryOfRecord, at, value, old, next.expires)
	})
	if err != nil {
		return fmt.Errorf("put into %s: %w", key, err)
	}
	return nil
}

// Get implements [store.Threads].
func (s *Store) Get(ctx context.Context, key core.ThreadKey, name string) (record store.Record, ok bool, err error) {
	if err := key.Check(); err != nil {
		return store.Record{}, false, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		stored, err := readItem(tx.Bucket(recordsBucket), recordKey(key, name))
		if stored != nil && !stored.expired(s.now().Unix()) {
			record, ok = stored.record(name), true
		}
		return err
	})
	if err != nil {
		return store.Record{}, false, fmt.Errorf("read record %s of %s: %w", name, key, err)
	}
	return record, ok, nil
}

// Log implements [store.Threads]. It reads in portions, so that no transaction
// is open while the caller's loop runs.
func (s *Store) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		start, last := store.LogName(from), store.LogName(min(to, maxSeq))
		for {
			portion, more, err := s.scan(ctx, key, span{prefix: "M#", start: start, last: last, limit: logPortion})
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, record := range portion {
				if !yield(record, nil) {
					return
				}
			}
			if !more {
				return
			}
			start = portion[len(portion)-1].Name + separator
		}
	}
}

// Records implements [store.Lists].
func (s *Store) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	start := ""
	if after != "" {
		start = after + separator // the first name behind it
	}
	records, _, err := s.scan(ctx, key, span{prefix: prefix, start: start, limit: limit, whole: true})
	return records, err
}

// Log reads at most so many records in one transaction, and stops at the first
// one with which they have so many bytes.
const (
	logPortion      = 256
	logPortionBytes = 1 << 20
)

// maxSeq is the last sequence whose name still sorts as it counts.
const maxSeq = 999_999_999_999

// span is a part of a thread's records in order of name.
type span struct {
	prefix string
	start  string // the first name
	last   string // the last name; empty: no bound
	limit  int
	whole  bool // logPortionBytes does not end it
}

// scan reads a span; more says that the limit ended it.
func (s *Store) scan(ctx context.Context, key core.ThreadKey, part span) (records []store.Record, more bool, err error) {
	if err := key.Check(); err != nil {
		return nil, false, err
	}
	thread := recordKey(key, "")
	prefix := recordKey(key, part.prefix)
	now := s.now().Unix()
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		size := 0
		cursor := tx.Bucket(recordsBucket).Cursor()
		at, value := cursor.Seek(recordKey(key, max(part.prefix, part.start)))
		for ; bytes.HasPrefix(at, prefix); at, value = cursor.Next() {
			name := nameOf(thread, at)
			if part.last != "" && name > part.last {
				return nil
			}
			if len(records) >= part.limit || size >= logPortionBytes && !part.whole {
				more = true
				return nil
			}
			stored, err := decodeItem(value)
			if err != nil {
				return fmt.Errorf("record %s: %w", name, err)
			}
			if !stored.expired(now) {
				records = append(records, stored.record(name))
				size += len(stored.payload)
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read records of %s: %w", key, err)
	}
	return records, more, nil
}

// readItem is nil when nothing is stored.
func readItem(bucket *bbolt.Bucket, key []byte) (*item, error) {
	value := bucket.Get(key)
	if value == nil {
		return nil, nil
	}
	stored, err := decodeItem(value)
	if err != nil {
		return nil, err
	}
	return &stored, nil
}

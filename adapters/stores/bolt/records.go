package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Put implements [store.Backend].
func (s *Store) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	w, err := s.prepareRecord(key, record)
	if err != nil {
		return err
	}
	err = s.update(ctx, func(to *writeTx) (bool, error) {
		if err := w.look(to.tx, s.now().Unix()); err != nil {
			return false, err
		}
		return w.admitted, w.write(to)
	})
	s.listed.note(key, record)
	if err != nil {
		return fmt.Errorf("put into %s: %w", key, err)
	}
	return nil
}

// recordWrite is a record on its way into the file.
type recordWrite struct {
	store.Record
	at, value []byte
	admitted  bool // look found that it must be written
}

// prepareRecord does what needs no file.
func (s *Store) prepareRecord(key core.ThreadKey, record store.Record) (*recordWrite, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if size := len(record.Payload); size > s.maxPayload {
		return nil, fmt.Errorf("%w: record %s of %s has %d bytes, at most %d are allowed", store.ErrTooLarge, record.Name, key, size, s.maxPayload)
	}
	at := recordKey(key, record.Name)
	if len(at) > maxKeySize {
		return nil, core.Errorf(core.CodeInvalid, "name of record %q is %d bytes long", core.Excerpt(record.Name), len(record.Name))
	}
	value := item{record.Fence, record.Version, record.Expires, record.Payload}.encode(at)
	return &recordWrite{Record: record, at: at, value: value}, nil
}

// look decides whether the record may be written, and whether it must be.
func (w *recordWrite) look(tx *bbolt.Tx, now int64) (err error) {
	old, err := readItem(tx.Bucket(threadsBucket), w.at)
	if err != nil {
		return fmt.Errorf("record %s: %w", w.Name, err)
	}
	var stored *store.Record
	if old != nil && !old.expired(now) {
		r := old.record(w.Name)
		stored = &r
	}
	w.admitted, err = w.Record.Admit(stored)
	return err
}

// write stores the record if look has admitted it.
func (w *recordWrite) write(to *writeTx) error {
	if !w.admitted {
		return nil
	}
	return to.put(threadsBucket, w.at, w.value)
}

// Get implements [store.Backend].
func (s *Store) Get(ctx context.Context, key core.ThreadKey, name string) (record store.Record, ok bool, err error) {
	if err := key.Check(); err != nil || name == "" {
		return store.Record{}, false, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		stored, err := readItem(tx.Bucket(threadsBucket), recordKey(key, name))
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

// Records implements [store.Backend].
func (s *Store) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	start := ""
	if after != "" {
		start = after + separator // the first name after it
	}
	records, _, err := s.scan(ctx, key, span{prefix: prefix, first: start, limit: limit, whole: true}, new(memory))
	return records, err
}

// RecordsBackwards implements [store.Backend].
func (s *Store) RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
	part := span{prefix: prefix, last: prefix + lastRune, before: true, limit: limit, whole: true, backwards: true}
	if before != "" {
		part.last = min(part.last, before)
	}
	records, _, err := s.scan(ctx, key, part, new(memory))
	return records, err
}

// lastRune sorts after all text that may follow in a name.
const lastRune = "\U0010FFFF"

// readItem is nil when nothing is stored.
func readItem(bucket *bbolt.Bucket, key []byte) (*item, error) {
	value := bucket.Get(key)
	if value == nil {
		return nil, nil
	}
	stored, err := decodeItem(key, value)
	if err != nil {
		return nil, err
	}
	return &stored, nil
}

package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Head implements [store.Threads].
func (s *Store) Head(ctx context.Context, key core.ThreadKey) (head thread.Head, err error) {
	if err := key.Check(); err != nil {
		return thread.Head{}, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		head, err = readHead(tx, key)
		return err
	})
	if err != nil {
		return thread.Head{}, fmt.Errorf("read head of %s: %w", key, err)
	}
	return head, nil
}

// CompareAndSet implements [store.Threads].
func (s *Store) CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (stored thread.Head, ok bool, err error) {
	if err := key.Check(); err != nil {
		return thread.Head{}, false, err
	}
	if next.Version == 0 {
		return thread.Head{}, false, core.Errorf(core.CodeInvalid, "head of %s to write has version 0, the first is 1", key)
	}
	value := next.AppendBinary(nil)
	err = s.update(ctx, func(tx *bbolt.Tx) (wrote bool, err error) {
		stored, err = readHead(tx, key)
		ok = err == nil && stored.Version == next.Version-1
		if !ok {
			return false, err
		}
		return true, writeHead(tx, key, value, stored.DueAt, next.DueAt)
	})
	if err != nil {
		return thread.Head{}, false, fmt.Errorf("write head of %s: %w", key, err)
	}
	if ok {
		return thread.Head{}, true, nil
	}
	return stored, false, nil
}

func readHead(tx *bbolt.Tx, key core.ThreadKey) (thread.Head, error) {
	value := tx.Bucket(headsBucket).Get(threadKey(key))
	if value == nil {
		return thread.Head{}, nil
	}
	return thread.Decode(value)
}

// writeHead writes a head and moves its entry in the due index.
func writeHead(tx *bbolt.Tx, key core.ThreadKey, value []byte, oldDue, newDue int64) error {
	if err := tx.Bucket(headsBucket).Put(threadKey(key), value); err != nil {
		return err
	}
	if oldDue == newDue {
		return nil
	}
	due := tx.Bucket(dueBucket)
	if oldDue > 0 {
		if err := due.Delete(dueKey(key, oldDue)); err != nil {
			return err
		}
	}
	if newDue > 0 {
		return due.Put(dueKey(key, newDue), nil)
	}
	return nil
}

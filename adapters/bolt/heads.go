package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Head implements [store.Threads].
func (s *Store) Head(ctx context.Context, key core.ThreadKey) (head thread.Head, err error) {
	if err := key.Check(); err != nil {
		return thread.Head{}, err
	}
	err = s.view(ctx, threadKey(key), func(tx *bbolt.Tx) error {
		head, err = readHead(tx, key)
		return err
	})
	if err != nil {
		return thread.Head{}, fmt.Errorf("read head of %s: %w", key, err)
	}
	return head, nil
}

// readHead returns the zero Head when there is none.
func readHead(tx *bbolt.Tx, key core.ThreadKey) (thread.Head, error) {
	at := threadKey(key)
	value := tx.Bucket(headsBucket).Get(at)
	if value == nil {
		return thread.Head{}, nil
	}
	return decodeHead(at, value)
}

func encodeHead(at []byte, head *thread.Head) []byte {
	return seal(head.AppendBinary(make([]byte, headerSize, 512)), headFormat, at)
}

func decodeHead(at, value []byte) (thread.Head, error) {
	content, err := unseal(value, headFormat, at)
	if err != nil {
		return thread.Head{}, err
	}
	return thread.Decode(content)
}

// writeHead writes a head over the stored one, and moves its entries in the indexes.
func writeHead(tx *writeTx, key core.ThreadKey, value []byte, stored, next *thread.Head) error {
	if err := tx.put(headsBucket, threadKey(key), value); err != nil {
		return err
	}
	if err := moveDue(tx, key, stored.DueAt, next.DueAt); err != nil {
		return err
	}
	return moveWaiting(tx, key, stored.Run.WaitsSince, next.Run.WaitsSince)
}

// moveDue moves a thread's entry in the due index.
func moveDue(tx *writeTx, key core.ThreadKey, old, next int64) error {
	if old == next {
		return nil
	}
	shard := store.Shard(key)
	if old > 0 {
		if err := tx.delete(dueBucket, dueKey(shard, old, key)); err != nil {
			return err
		}
	}
	if next > 0 {
		at := dueKey(shard, next, key)
		return tx.put(dueBucket, at, indexValue(at))
	}
	return nil
}

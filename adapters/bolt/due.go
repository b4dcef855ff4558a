package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// DuePolicy implements [store.Due]: the index is exact, since it lies in the
// same transaction as the head.
func (s *Store) DuePolicy() thread.DuePolicy { return thread.DuePolicy{} }

// Overdue implements [store.Due]. Threads that are due at the same time are in
// the order of their keys. A damaged entry of the index is passed over, so that
// it keeps no other thread from being found; its own thread is found by
// [Store.Claimed] at the next start.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (due []store.Overdue, err error) {
	if shard < 0 || shard >= store.Shards {
		return nil, core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, store.Shards-1)
	}
	if err := s.db.same(); err != nil { // whoever sweeps also notices that the file is gone
		return nil, err
	}
	prefix := []byte{byte(shard)}
	start := prefix
	if after != nil {
		start = append(dueKey(shard, after.At, after.Key), 0) // the first key behind it
	}
	err = s.view(ctx, nil, func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(dueBucket).Cursor()
		for k, v := cursor.Seek(start); bytes.HasPrefix(k, prefix) && len(due) < limit; k, v = cursor.Next() {
			at, key, err := parseDueKey(k)
			if err != nil || !inOrder(k, v) {
				continue
			}
			if at > until {
				return nil
			}
			due = append(due, store.Overdue{Key: key, At: at})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list shard %d of overdue threads: %w", shard, err)
	}
	return due, nil
}

// Claimed lists the threads whose head holds a claim and those that are due
// now. A process that has just opened the file is the only one that has it
// open, so no holder of these claims lives. It reads every head, and passes
// over those that it cannot read: whoever uses their threads gets the error.
func (s *Store) Claimed(ctx context.Context) (keys []core.ThreadKey, err error) {
	now := s.now().UnixMilli()
	err = s.view(ctx, nil, func(tx *bbolt.Tx) error {
		return tx.Bucket(headsBucket).ForEach(func(at, value []byte) error {
			key, keyErr := parseThreadKey(at)
			head, headErr := decodeHead(at, value)
			if keyErr != nil || headErr != nil {
				return nil
			}
			if head.DueAt > 0 && head.DueAt <= now || head.Claim.Fence != 0 {
				keys = append(keys, key)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list claimed threads: %w", err)
	}
	return keys, nil
}

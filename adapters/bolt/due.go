package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Overdue implements [store.Due]. Threads that are due at the same time are in
// the order of their keys.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, limit int) (keys []core.ThreadKey, err error) {
	if shard < 0 || shard >= store.Shards {
		return nil, core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, store.Shards-1)
	}
	prefix := []byte{byte(shard)}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(dueBucket).Cursor()
		for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix) && len(keys) < limit; k, _ = cursor.Next() {
			at, key, err := parseDueKey(k)
			if err != nil {
				return err
			}
			if at > until {
				return nil
			}
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list shard %d of overdue threads: %w", shard, err)
	}
	return keys, nil
}

// Claimed lists the threads whose head holds a claim and those that are due
// now. A process that has just opened the file is the only one that has it
// open, so no holder of these claims lives.
func (s *Store) Claimed(ctx context.Context) (keys []core.ThreadKey, err error) {
	now := s.now().UnixMilli()
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		return tx.Bucket(dueBucket).ForEach(func(k, _ []byte) error { // a claimed thread is due at the end of its lease
			at, key, err := parseDueKey(k)
			if err != nil {
				return err
			}
			head, err := readHead(tx, key)
			if err != nil {
				return fmt.Errorf("head of %s: %w", key, err)
			}
			if at <= now || head.Claim.Fence != 0 {
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

package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// Erase implements [store.Backend]. It frees space in the file, which later writes use;
// the file does not become smaller. Damaged records are erased like others.
func (s *Store) Erase(ctx context.Context, key core.ThreadKey, limit int) (erased int, err error) {
	if err := key.Check(); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, core.Errorf(core.CodeInvalid, "erase %d records, at least 1 is allowed", limit)
	}
	err = s.update(ctx, func(w *writeTx) (bool, error) {
		erased = 0
		for _, at := range recordsOf(w.tx, key, limit) {
			if err := w.remove(threadsBucket, at); err != nil {
				return true, err
			}
			erased++
		}
		return erased > 0, nil
	})
	if err != nil {
		return 0, fmt.Errorf("erase %s: %w", key, err)
	}
	return erased, nil
}

// recordsOf lists keys of a thread's records, the expired ones too.
func recordsOf(tx *bbolt.Tx, key core.ThreadKey, limit int) (keys [][]byte) {
	prefix := recordKey(key, "")
	cursor := tx.Bucket(threadsBucket).Cursor()
	for at, _ := cursor.Seek(recordKey(key, "\x00")); bytes.HasPrefix(at, prefix) && len(keys) < limit; at, _ = cursor.Next() {
		keys = append(keys, bytes.Clone(at)) // before the first write, which may move them
	}
	return keys
}

package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// A quarantined head is a value around the damaged one, with a time and a checksum of its
// own, so that the damaged bytes stay as they were. The agenda omits it, as it omits every
// head that it cannot decode.

// quarantined returns the value that a quarantined one encloses and the time; 0: it is not
// quarantined, and the value itself.
func quarantined(at, value []byte) (original []byte, since int64) {
	content, err := unseal(value, quarantineFormat, at)
	if err != nil {
		return value, 0
	}
	ms, n := binary.Varint(content)
	if n <= 0 || ms <= 0 {
		return value, 0
	}
	return content[n:], ms
}

func quarantine(at, original []byte, since int64) []byte {
	value := make([]byte, headerSize, headerSize+binary.MaxVarintLen64+len(original))
	return seal(append(binary.AppendVarint(value, since), original...), quarantineFormat, at)
}

// StoredHead implements [store.Backend]. The version of a damaged head is not known.
func (s *Store) StoredHead(ctx context.Context, key core.ThreadKey) (stored store.StoredHead, err error) {
	if err := key.Check(); err != nil {
		return stored, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		stored = s.storedHead(tx, headKey(key))
		return nil
	})
	if err != nil {
		return store.StoredHead{}, fmt.Errorf("read head of %s: %w", key, err)
	}
	return stored, nil
}

func (s *Store) storedHead(tx *bbolt.Tx, at []byte) store.StoredHead {
	value := tx.Bucket(threadsBucket).Get(at)
	if value == nil {
		return store.StoredHead{}
	}
	original, since := quarantined(at, value)
	head, damage := readHead(tx, at)
	return store.StoredHead{Bytes: bytes.Clone(original), Version: head.Version, Quarantined: since, Damage: s.db.explain(damage)}
}

// QuarantineHead implements [store.Backend].
func (s *Store) QuarantineHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, since int64) (bool, error) {
	return s.replaceHead(ctx, "quarantine head of", key, was, func(w *writeTx, at []byte, now store.StoredHead) (store.Head, []byte, error) {
		return store.Head{}, quarantine(at, now.Bytes, since), now.CheckDamaged(key)
	})
}

// ReleaseHead implements [store.Backend].
func (s *Store) ReleaseHead(ctx context.Context, key core.ThreadKey, was store.StoredHead) (bool, error) {
	return s.replaceHead(ctx, "release head of", key, was, func(w *writeTx, at []byte, now store.StoredHead) (store.Head, []byte, error) {
		head, err := readHead(w.tx, at)
		if now.Quarantined == 0 {
			return head, nil, err
		}
		return head, now.Bytes, err
	})
}

// ReplaceHead implements [store.Backend].
func (s *Store) ReplaceHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, next store.Head) (bool, error) {
	return s.replaceHead(ctx, "replace head of", key, was, func(w *writeTx, at []byte, now store.StoredHead) (store.Head, []byte, error) {
		return next, encodeHead(at, &next), now.CheckDamaged(key)
	})
}

// replaceHead puts the value that change returns, if the stored head is the given one; nil:
// nothing. The agenda then has what the head that change returns waits for.
func (s *Store) replaceHead(ctx context.Context, doing string, key core.ThreadKey, was store.StoredHead, change func(w *writeTx, at []byte, now store.StoredHead) (store.Head, []byte, error)) (done bool, err error) {
	if err := key.Check(); err != nil {
		return false, err
	}
	at := headKey(key)
	err = s.update(ctx, func(w *writeTx) (bool, error) {
		now := s.storedHead(w.tx, at)
		if done = now.Same(was); !done {
			return false, nil
		}
		next, value, err := change(w, at, now)
		if err != nil || value == nil {
			return false, err
		}
		w.after = append(w.after, func() { s.agenda.note(key, &next) })
		return true, w.put(threadsBucket, at, value)
	})
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", doing, key, err)
	}
	return done, nil
}

// Quarantined implements [store.Backend]. It goes through all heads of the file.
func (s *Store) Quarantined(ctx context.Context, after *core.ThreadKey, limit int) (keys []core.ThreadKey, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		keys = nil
		eachThread(tx, func(at, value []byte) {
			if len(keys) >= limit || after != nil && bytes.Compare(at, headKey(*after)) <= 0 {
				return
			}
			if _, since := quarantined(at, value); since == 0 {
				return
			}
			if key, err := parseHeadKey(at); err == nil {
				keys = append(keys, key)
			}
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list quarantined threads: %w", err)
	}
	return keys, nil
}

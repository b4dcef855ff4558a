package bolt

import (
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Head implements [store.Backend].
func (s *Store) Head(ctx context.Context, key core.ThreadKey) (head store.Head, err error) {
	if err := key.Check(); err != nil {
		return store.Head{}, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		head, err = readHead(tx, headKey(key))
		return err
	})
	if err != nil {
		return store.Head{}, fmt.Errorf("read head of %s: %w", key, err)
	}
	return head, nil
}

// readHead returns the zero Head if there is no head.
func readHead(tx *bbolt.Tx, at []byte) (store.Head, error) {
	value := tx.Bucket(threadsBucket).Get(at)
	if value == nil {
		return store.Head{}, nil
	}
	original, since := quarantined(at, value)
	head, err := decodeHead(at, original)
	if core.CodeOf(err) == core.CodeCorrupt {
		key, _ := parseHeadKey(at) // calls have checked it
		return store.Head{}, &store.DamagedError{Key: key, Quarantined: since, Cause: err}
	}
	return head, err
}

func encodeHead(at []byte, head *store.Head) []byte {
	return seal(head.AppendBinary(make([]byte, headerSize, 512)), headFormat, at)
}

func decodeHead(at, value []byte) (head store.Head, err error) {
	content, err := unseal(value, headFormat, at)
	if err != nil {
		return head, err
	}
	err = head.UnmarshalBinary(content)
	return head, err
}

// Threads lists the threads of a tenant (empty: of all tenants) in the file, in order of
// their keys, including the deleted ones.
func (s *Store) Threads(ctx context.Context, tenant string) (keys []core.ThreadKey, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		keys = nil
		eachThread(tx, func(at, _ []byte) {
			if key, err := parseHeadKey(at); err == nil && (tenant == "" || key.Tenant == tenant) {
				keys = append(keys, key)
			}
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return keys, nil
}

// Claimed lists the threads whose claims were taken before the file was opened, and the
// threads without a claim that are due now. Only one process has the file open, so no
// holder of these claims is alive. Claimed reads every head, and skips those that it
// cannot read: calls for their threads return the error.
func (s *Store) Claimed(ctx context.Context) (keys []core.ThreadKey, err error) {
	now := s.now().UnixMilli()
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		keys = nil
		eachThread(tx, func(at, value []byte) {
			key, keyErr := parseHeadKey(at)
			head, headErr := decodeHead(at, value)
			if keyErr != nil || headErr != nil {
				return
			}
			if head.Claim.Fence != 0 && takenAt(head.Claim.CommitID) < s.opened || head.Claim.Fence == 0 && head.DueAt > 0 && head.DueAt <= now {
				keys = append(keys, key)
			}
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list claimed threads: %w", err)
	}
	return keys, nil
}

// takenAt is when a claim was taken, in unix milliseconds, by its commit id.
func takenAt(commit core.ID) int64 {
	var ms [8]byte
	copy(ms[2:], commit[:6])
	return int64(binary.BigEndian.Uint64(ms[:]))
}

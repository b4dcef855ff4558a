package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// ReadProfile implements [store.Backend].
func (s *Store) ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (profile state.Profile, err error) {
	at, err := profileAt(tenant, name)
	if err != nil {
		return state.Profile{}, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		profile, err = readProfile(tx, at)
		return err
	})
	if err != nil {
		return state.Profile{}, fmt.Errorf("read profile %s of %s: %w", name, tenant, err)
	}
	return profile, nil
}

// WriteProfile implements [store.Backend].
func (s *Store) WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (next uint64, err error) {
	if err := name.CheckWrite(value); err != nil {
		return 0, err
	}
	at, err := profileAt(tenant, name)
	if err != nil {
		return 0, err
	}
	err = s.update(ctx, func(w *writeTx) (bool, error) {
		stored, err := readProfile(w.tx, at)
		// A damaged value has no revision to compare: only who asks for none replaces it.
		if err != nil && revision != state.AnyRevision {
			return false, err
		}
		if err := name.Admit(stored.Revision, revision); err != nil {
			return false, err
		}
		last, err := readItem(w.tx.Bucket(metaBucket), revisionKey)
		if err != nil {
			return false, err
		}
		next = 1
		if last != nil {
			next = last.fence + 1
		}
		if err := w.put(metaBucket, revisionKey, item{fence: next}.encode(revisionKey)); err != nil { // so that none comes again
			return true, err
		}
		return true, w.put(profilesBucket, at, item{fence: next, payload: value}.encode(at))
	})
	if err != nil {
		return 0, fmt.Errorf("write profile %s of %s: %w", name, tenant, err)
	}
	return next, nil
}

// DeleteProfile implements [store.Backend].
func (s *Store) DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error {
	at, err := profileAt(tenant, name)
	if err != nil {
		return err
	}
	err = s.update(ctx, func(w *writeTx) (bool, error) {
		stored, err := readProfile(w.tx, at)
		if err != nil && revision != state.AnyRevision {
			return false, err
		}
		if err == nil && stored.Revision == 0 {
			return false, nil
		}
		if err := name.Admit(stored.Revision, revision); err != nil {
			return false, err
		}
		return true, w.remove(profilesBucket, at)
	})
	if err != nil {
		return fmt.Errorf("delete profile %s of %s: %w", name, tenant, err)
	}
	return nil
}

// ProfileKeys implements [store.Backend]. It reads no value.
func (s *Store) ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) (keys []string, err error) {
	if err := (state.ProfileName{Namespace: namespace, Key: prefix}).CheckKeys(after); err != nil {
		return nil, err
	}
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	place := []byte(tenant + separator + namespace + separator)
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		keys = nil
		cursor := tx.Bucket(profilesBucket).Cursor()
		first := append(bytes.Clone(place), max(prefix, after)...)
		for k, _ := cursor.Seek(first); k != nil && len(keys) < limit; k, _ = cursor.Next() {
			key, ours := bytes.CutPrefix(k, place)
			if !ours || !bytes.HasPrefix(key, []byte(prefix)) {
				break
			}
			if string(key) != after {
				keys = append(keys, string(key))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list profiles %s of %s: %w", namespace, tenant, err)
	}
	return keys, nil
}

// readProfile returns the zero Profile when nothing is stored.
func readProfile(tx *bbolt.Tx, at []byte) (state.Profile, error) {
	stored, err := readItem(tx.Bucket(profilesBucket), at)
	if err != nil || stored == nil {
		return state.Profile{}, err
	}
	return state.Profile{Value: stored.payload, Revision: stored.fence}, nil
}

func profileAt(tenant string, name state.ProfileName) ([]byte, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	if err := name.Check(); err != nil {
		return nil, err
	}
	return []byte(tenant + separator + name.Namespace + separator + name.Key), nil
}

// PutSnapshot implements [store.Backend].
func (s *Store) PutSnapshot(ctx context.Context, hash string, content []byte) error {
	if err := core.CheckName("hash of a snapshot", hash); err != nil {
		return err
	}
	if len(content) > s.maxPayload {
		return fmt.Errorf("%w: snapshot %s has %d bytes, at most %d are allowed", store.ErrTooLarge, hash, len(content), s.maxPayload)
	}
	at := []byte(hash)
	value := item{payload: content}.encode(at)
	err := s.update(ctx, func(w *writeTx) (bool, error) {
		stored, err := readItem(w.tx.Bucket(configsBucket), at)
		if err != nil {
			return false, err
		}
		if stored != nil && !bytes.Equal(stored.payload, content) {
			return false, &store.RefusedError{Name: hash, Cause: store.ErrConflict}
		}
		if stored != nil {
			return false, nil
		}
		return true, w.put(configsBucket, at, value)
	})
	if err != nil {
		return fmt.Errorf("put snapshot %s: %w", hash, err)
	}
	return nil
}

// Snapshot implements [store.Backend].
func (s *Store) Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error) {
	if err := core.CheckName("hash of a snapshot", hash); err != nil {
		return nil, false, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		stored, err := readItem(tx.Bucket(configsBucket), []byte(hash))
		if stored != nil {
			content, ok = stored.payload, true
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read snapshot %s: %w", hash, err)
	}
	return content, ok, nil
}

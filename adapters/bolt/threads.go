package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// Threads lists the threads of a tenant (empty: of all) that the file has, in order of
// their keys, the deleted ones included.
func (s *Store) Threads(ctx context.Context, tenant string) (keys []core.ThreadKey, err error) {
	err = s.view(ctx, nil, func(tx *bbolt.Tx) error {
		return tx.Bucket(headsBucket).ForEach(func(at, _ []byte) error {
			key, err := parseThreadKey(at)
			if err == nil && (tenant == "" || key.Tenant == tenant) {
				keys = append(keys, key)
			}
			return nil // whoever looks for what a damaged key named gets the error
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return keys, nil
}

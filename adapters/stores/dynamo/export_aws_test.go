//go:build aws

package dynamo

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Items encodes a whole thread: first its head, then its records.
func Items(key core.ThreadKey, head store.Head, records []store.Record) (items []item, err error) {
	pk, err := partition(key)
	if err != nil {
		return nil, err
	}
	items = append(items, encodeHead(pk, key, &head))
	for _, record := range records {
		it, err := encodeRecord(pk, record, maxPayload)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

package dynamo

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// PutPointer implements [store.Pointers]. The time to live is rounded up to the
// second; 0 or less is for ever.
func (s *Store) PutPointer(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) ([]byte, error) {
	pk, err := pointerPartition(tenant, name)
	if err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("put pointer %s of %s", core.Excerpt(name), tenant)
	it := item{attrPK: pk, attrSK: text(pointerName)}
	if ttl > 0 {
		it[attrExpires] = number(s.now().Add(ttl + time.Second - 1).Unix())
	}
	if err := setPayload(it, doing, value); err != nil {
		return nil, err
	}
	input := &dynamodb.PutItemInput{Item: it}
	s.condition(input, store.KindCreate)
	for range 2 { // as in Put
		met, err := s.put(ctx, doing, input)
		if err != nil {
			return nil, err
		}
		if met == nil {
			return append([]byte{}, value...), nil
		}
		if len(met.item) > 0 {
			return pointerValue(doing, met.item)
		}
	}
	return nil, core.Errorf(core.CodeUnavailable, "%s: the stored item changes under the write", doing)
}

// Pointer implements [store.Pointers], strongly consistent.
func (s *Store) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	pk, err := pointerPartition(tenant, name)
	if err != nil {
		return nil, false, err
	}
	doing := fmt.Sprintf("read pointer %s of %s", core.Excerpt(name), tenant)
	it, err := s.get(ctx, doing, pk, text(pointerName))
	if err != nil || len(it) == 0 || expired(it, s.now().Unix()) {
		return nil, false, err
	}
	value, err := pointerValue(doing, it)
	return value, err == nil, err
}

// pointerPartition is unambiguous whatever the name contains, since a tenant
// has no '#'.
func pointerPartition(tenant, name string) (types.AttributeValue, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	pk := "N#" + tenant + "#" + name
	if name == "" || len(pk) > maxPartitionKey || !utf8.ValidString(name) {
		return nil, core.Errorf(core.CodeInvalid, "pointer name %q: want UTF-8, not empty and at most %d bytes with its tenant", core.Excerpt(name), maxPartitionKey)
	}
	return text(pk), nil
}

func pointerValue(doing string, it item) ([]byte, error) {
	value, err := payloadOf(it)
	if err != nil {
		return nil, core.Errorf(core.CodeCorrupt, "%s: %w", doing, err)
	}
	return value, nil
}

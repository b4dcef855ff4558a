package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// pointerPut is a pointer that is ready to be sent.
type pointerPut struct {
	doing   string
	pointer store.Pointer
	item    item
}

// preparePointer refuses pointers that are never sent. The time to live is rounded up to
// the second; 0 or less means permanent.
func (s *Store) preparePointer(tenant string, p store.Pointer) (pointerPut, error) {
	pk, err := pointerPartition(tenant, p.Name)
	if err != nil {
		return pointerPut{}, err
	}
	doing := fmt.Sprintf("put pointer %s of %s", core.Excerpt(p.Name), tenant)
	it := item{attrPK: pk, attrSK: text(pointerName)}
	if p.TTL > 0 {
		it[attrExpires] = number(s.now().Add(p.TTL + time.Second - 1).Unix())
	}
	return pointerPut{doing, p, it}, setPayload(it, doing, p.Value, maxPayload)
}

// putPointer returns nil when the pointer holds the value now, else the pointer
// with the value that it holds.
func (s *Store) putPointer(ctx context.Context, p pointerPut) (taken *store.Pointer, err error) {
	input := &dynamodb.PutItemInput{Item: p.item}
	s.condition(input, store.KindCreate)
	for range 2 { // as in putRecord
		met, err := s.threads.put(ctx, p.doing, input)
		if err != nil || met == nil {
			return nil, err
		}
		if len(met.item) == 0 {
			continue
		}
		value, err := pointerValue(p.doing, met.item)
		if err != nil || bytes.Equal(value, p.pointer.Value) {
			return nil, err
		}
		return &store.Pointer{Name: p.pointer.Name, Value: value}, nil
	}
	return nil, core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", p.doing)
}

// Pointer implements [store.Backend], strongly consistent.
func (s *Store) Pointer(ctx context.Context, tenant, name string) ([]byte, bool, error) {
	pk, err := pointerPartition(tenant, name)
	if err != nil {
		return nil, false, err
	}
	doing := fmt.Sprintf("read pointer %s of %s", core.Excerpt(name), tenant)
	it, err := s.threads.get(ctx, doing, pk, text(pointerName))
	if err != nil || len(it) == 0 || expired(it, s.now().Unix()) {
		return nil, false, err
	}
	value, err := pointerValue(doing, it)
	return value, err == nil, err
}

// pointerPartition is unambiguous for every name, since a tenant has no '#'.
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
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return value, nil
}

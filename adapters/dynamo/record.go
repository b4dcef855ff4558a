package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Put implements [store.Threads].
func (s *Store) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	pk, err := partition(key)
	if err != nil {
		return err
	}
	put, err := prepareRecord(key, pk, record)
	if err != nil {
		return err
	}
	return s.putRecord(ctx, put)
}

// recordPut is a record that is ready to be sent.
type recordPut struct {
	doing  string
	record store.Record
	item   item
}

// prepareRecord refuses what is never sent: a name without a kind, a payload
// over the limit.
func prepareRecord(key core.ThreadKey, pk types.AttributeValue, record store.Record) (recordPut, error) {
	if _, err := store.Admit(nil, record); err != nil {
		return recordPut{}, err
	}
	it, err := encodeRecord(pk, record)
	if err != nil {
		return recordPut{}, fmt.Errorf("put in %s: %w", key, err)
	}
	return recordPut{fmt.Sprintf("put %s of %s", record.Name, key), record, it}, nil
}

// putRecord sends a record under the condition of its kind.
func (s *Store) putRecord(ctx context.Context, p recordPut) error {
	input := &dynamodb.PutItemInput{Item: p.item}
	s.condition(input, p.record.Kind())
	// A second round is needed only when the item that refused the first was
	// gone before it could be read.
	for range 2 {
		met, err := s.threads.put(ctx, p.doing, input)
		if err != nil || met == nil {
			return err
		}
		if len(met.item) == 0 {
			continue
		}
		stored, err := decodeRecord(met.item)
		if err != nil {
			return fmt.Errorf("%s: %w", p.doing, err)
		}
		if write, err := store.Admit(&stored, p.record); err != nil || !write {
			return err
		}
	}
	return core.Errorf(core.CodeUnavailable, "%s: the stored item changes under the write", p.doing)
}

// condition sets what [store.Admit] asks of the stored item. Only create-only
// records take the place of an expired one: with the others the fence decides.
func (s *Store) condition(input *dynamodb.PutItemInput, kind store.Kind) {
	switch kind {
	case store.KindCreate:
		input.ConditionExpression = aws.String("attribute_not_exists(pk) OR x <= :now")
		input.ExpressionAttributeValues = item{":now": number(s.now().Unix())}
	case store.KindLog:
		input.ConditionExpression = aws.String("attribute_not_exists(pk) OR f < :f")
		input.ExpressionAttributeValues = item{":f": input.Item[attrFence]}
	case store.KindRewrite:
		input.ConditionExpression = aws.String("attribute_not_exists(pk) OR f < :f OR (f = :f AND s < :s)")
		input.ExpressionAttributeValues = item{":f": input.Item[attrFence], ":s": input.Item[attrAt]}
	case store.KindLatest:
		input.ConditionExpression = aws.String("attribute_not_exists(pk) OR f < :f OR (f = :f AND s <= :s)")
		input.ExpressionAttributeValues = item{":f": input.Item[attrFence], ":s": input.Item[attrAt]}
	}
}

// Get implements [store.Threads].
func (s *Store) Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	pk, err := partition(key)
	if err != nil {
		return store.Record{}, false, err
	}
	if (store.Record{Name: name}).Kind() == 0 {
		return store.Record{}, false, nil // nothing can be stored there
	}
	doing := fmt.Sprintf("read %s of %s", name, key)
	it, err := s.threads.get(ctx, doing, pk, text(name))
	if err != nil || len(it) == 0 || expired(it, s.now().Unix()) {
		return store.Record{}, false, err
	}
	record, err := decodeRecord(it)
	if err != nil {
		return store.Record{}, false, fmt.Errorf("%s: %w", doing, err)
	}
	return record, true, nil
}

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

// Put implements [store.Backend].
func (s *Store) Put(ctx context.Context, key core.ThreadKey, record store.Record) error {
	pk, err := partition(key)
	if err != nil {
		return err
	}
	put, err := s.prepareRecord(key, pk, record, func() (uint64, error) {
		head, err := s.Head(ctx, key)
		return head.Incarnation, err
	})
	if err != nil {
		return err
	}
	return s.putRecord(ctx, put)
}

// recordPut is a record that is ready to be sent.
type recordPut struct {
	doing   string
	key     core.ThreadKey
	record  store.Record
	item    item
	content []byte // of the object that the item names; nil when it names none
}

// prepareRecord refuses records that are never sent: a name without a kind, a payload
// over the limit. If the payload must be an object, it asks for the thread's incarnation.
// The payload of a listed record is never an object: lists are read without a bucket.
func (s *Store) prepareRecord(key core.ThreadKey, pk types.AttributeValue, record store.Record, incarnation func() (uint64, error)) (recordPut, error) {
	if _, err := record.Admit(nil); err != nil {
		return recordPut{}, err
	}
	p := recordPut{doing: fmt.Sprintf("put %s of %s", record.Name, key), key: key, record: record}
	limit, inside := maxPayload, s.objects == nil || record.Kind() == store.KindLatest
	if !inside {
		limit = maxObject
	}
	it, err := encodeRecord(pk, record, limit)
	if err != nil {
		return recordPut{}, fmt.Errorf("put in %s: %w", key, err)
	}
	if p.item = it; !inside {
		p.content, err = overflow(it, incarnation)
	}
	return p, err
}

// putRecord sends a record under the condition of its kind, after the object that it
// names: if the record is refused, the object is erased with the thread.
func (s *Store) putRecord(ctx context.Context, p recordPut) error {
	if err := s.putObject(ctx, p); err != nil {
		return err
	}
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
		if there, err := s.meet(ctx, p, met.item); err != nil {
			return err
		} else if !there {
			continue
		}
		stored, err := decodeRecord(met.item)
		if err != nil {
			return fmt.Errorf("%s: %w", p.doing, err)
		}
		if write, err := p.record.Admit(&stored); err != nil || !write {
			return err
		}
	}
	return core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", p.doing)
}

// condition sets what [store.Record.Admit] asks of the stored item. Only create-only
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

// Get implements [store.Backend].
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
	if there, err := s.fetch(ctx, doing, it); err != nil || !there {
		return store.Record{}, false, err
	}
	record, err := decodeRecord(it)
	if err != nil {
		return store.Record{}, false, fmt.Errorf("%s: %w", doing, err)
	}
	return record, true, nil
}

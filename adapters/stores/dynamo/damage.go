package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// quarantineList is the key of quarantined heads in the index "listed". No tenant's list
// has it.
const quarantineList = "Q#"

// quarantinePlace sorts as the keys do.
func quarantinePlace(key core.ThreadKey) string { return key.Tenant + "#" + key.Thread }

// StoredHead implements [store.Backend]. It costs one read unit.
func (s *Store) StoredHead(ctx context.Context, key core.ThreadKey) (store.StoredHead, error) {
	it, err := s.headItem(ctx, key)
	if err != nil {
		return store.StoredHead{}, err
	}
	return storedHead(key, it), nil
}

func (s *Store) headItem(ctx context.Context, key core.ThreadKey) (item, error) {
	pk, err := partition(key)
	if err != nil {
		return nil, err
	}
	return s.threads.get(ctx, fmt.Sprintf("read head of %s", key), pk, text(headName))
}

func storedHead(key core.ThreadKey, it item) store.StoredHead {
	if len(it) == 0 {
		return store.StoredHead{}
	}
	_, damage := decodeHead(key, it)
	version, _ := numberOf(it, attrVersion) // what is no number is damage
	return store.StoredHead{Bytes: blobOf(it, attrHead), Version: version, Quarantined: quarantined(it), Damage: damage}
}

// quarantined is when a head was quarantined; 0: it is not.
func quarantined(it item) int64 {
	since, err := numberOf(it, attrQuarantined)
	if err != nil || since > math.MaxInt64 {
		return 0
	}
	return int64(since)
}

// QuarantineHead implements [store.Backend]. The item leaves the indexes of due and waiting
// threads, and is in "listed" until it is released or replaced.
func (s *Store) QuarantineHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, since int64) (bool, error) {
	return s.replaceHead(ctx, fmt.Sprintf("quarantine head of %s", key), key, was, func(it item, now store.StoredHead) (item, error) {
		if err := now.CheckDamaged(key); err != nil {
			return nil, err
		}
		for _, name := range []string{attrShard, attrDue, attrTenant, attrSince} {
			delete(it, name)
		}
		it[attrQuarantined], it[attrList], it[attrPlace] = number(since), text(quarantineList), text(quarantinePlace(key))
		return it, nil
	})
}

// ReleaseHead implements [store.Backend].
func (s *Store) ReleaseHead(ctx context.Context, key core.ThreadKey, was store.StoredHead) (bool, error) {
	return s.replaceHead(ctx, fmt.Sprintf("release head of %s", key), key, was, func(it item, now store.StoredHead) (item, error) {
		head, err := decodeHead(key, it)
		if err != nil || now.Quarantined == 0 {
			return nil, err
		}
		return encodeHead(it[attrPK], key, &head), nil
	})
}

// ReplaceHead implements [store.Backend].
func (s *Store) ReplaceHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, next store.Head) (bool, error) {
	return s.replaceHead(ctx, fmt.Sprintf("replace head of %s", key), key, was, func(it item, now store.StoredHead) (item, error) {
		if err := now.CheckDamaged(key); err != nil {
			return nil, err
		}
		return encodeHead(it[attrPK], key, &next), nil
	})
}

// replaceHead puts what change makes of a copy of the stored item, if it is still the given
// one; nil: nothing. The condition of the write are the attributes as they are stored, also
// those that are missing or have a wrong type.
func (s *Store) replaceHead(ctx context.Context, doing string, key core.ThreadKey, was store.StoredHead, change func(it item, now store.StoredHead) (item, error)) (bool, error) {
	stored, err := s.headItem(ctx, key)
	if err != nil {
		return false, err
	}
	now := storedHead(key, stored)
	if !now.Same(was) {
		return false, nil
	}
	next, err := change(maps.Clone(stored), now)
	if err != nil || next == nil {
		return err == nil, err
	}
	input := &dynamodb.PutItemInput{Item: next}
	values, conditions := item{}, []string{}
	for _, name := range []string{attrHead, attrVersion, attrQuarantined} {
		if value, ok := stored[name]; ok {
			values[":"+name], conditions = value, append(conditions, name+" = :"+name)
		} else {
			conditions = append(conditions, "attribute_not_exists("+name+")")
		}
	}
	input.ConditionExpression = aws.String(strings.Join(conditions, " AND "))
	if len(values) > 0 {
		input.ExpressionAttributeValues = values
	}
	met, err := s.threads.put(ctx, doing, input)
	if err != nil || met == nil {
		return err == nil, err
	}
	// An attempt without a response may have been applied.
	return met.unanswered && bytes.Equal(blobOf(met.item, attrHead), blobOf(next, attrHead)) && quarantined(met.item) == quarantined(next), nil
}

// Quarantined implements [store.Backend] on the sparse index, which lags a little.
func (s *Store) Quarantined(ctx context.Context, after *core.ThreadKey, limit int) ([]core.ThreadKey, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	const doing = "list quarantined threads"
	input := &dynamodb.QueryInput{
		IndexName:                 aws.String(listedIndex),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		KeyConditionExpression:    aws.String("l = :l"),
		ExpressionAttributeValues: item{":l": text(quarantineList)},
	}
	if after != nil {
		input.KeyConditionExpression = aws.String("l = :l AND m > :m")
		input.ExpressionAttributeValues[":m"] = text(quarantinePlace(*after))
	}
	var keys []core.ThreadKey
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		key, err := threadKey(it)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if keys = append(keys, key); len(keys) == limit {
			break
		}
	}
	return keys, nil
}

package dynamo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Head implements [store.Threads]. It costs one read unit.
func (s *Store) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	pk, err := partition(key)
	if err != nil {
		return thread.Head{}, err
	}
	it, err := s.get(ctx, fmt.Sprintf("read head of %s", key), pk, text(headName))
	if err != nil {
		return thread.Head{}, err
	}
	return decodeHead(key, it)
}

// CompareAndSet implements [store.Threads]. ok is also true when a try of this call
// got no answer, the next one was refused, and the stored head turns out to be
// next itself: the first try was applied.
func (s *Store) CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
	pk, err := partition(key)
	if err != nil {
		return thread.Head{}, false, err
	}
	if next.Version == 0 {
		return thread.Head{}, false, core.Errorf(core.CodeInvalid, "head of %s to write has version 0, the first is 1", key)
	}
	it := encodeHead(pk, key, &next)
	input := &dynamodb.PutItemInput{Item: it}
	if next.Version == 1 {
		input.ConditionExpression = aws.String("attribute_not_exists(pk)")
	} else {
		input.ConditionExpression = aws.String("v = :v")
		input.ExpressionAttributeValues = item{":v": number(next.Version - 1)}
	}
	met, err := s.put(ctx, fmt.Sprintf("write head of %s version %d", key, next.Version), input)
	if err != nil {
		return thread.Head{}, false, err
	}
	if met == nil {
		return thread.Head{}, true, nil
	}
	stored, err := decodeHead(key, met.item)
	if err != nil {
		return thread.Head{}, false, err
	}
	if met.unanswered && bytes.Equal(blobOf(it, attrHead), blobOf(met.item, attrHead)) {
		return thread.Head{}, true, nil
	}
	return stored, false, nil
}

package dynamo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Head implements [store.Backend]. It costs one read unit.
func (s *Store) Head(ctx context.Context, key core.ThreadKey) (store.Head, error) {
	pk, err := partition(key)
	if err != nil {
		return store.Head{}, err
	}
	it, err := s.threads.get(ctx, fmt.Sprintf("read head of %s", key), pk, text(headName))
	if err != nil {
		return store.Head{}, err
	}
	return decodeHead(key, it)
}

// putHead writes the head of a Commit. Written is also true if an attempt of this call
// got no response, the next one was refused, and the stored head is next itself: the
// first attempt was applied.
func (s *Store) putHead(ctx context.Context, key core.ThreadKey, pk types.AttributeValue, next *store.Head) (store.Outcome, error) {
	it := encodeHead(pk, key, next)
	input := &dynamodb.PutItemInput{Item: it}
	if next.Version == 1 {
		input.ConditionExpression = aws.String("attribute_not_exists(pk)")
	} else {
		input.ConditionExpression = aws.String("v = :v")
		input.ExpressionAttributeValues = item{":v": number(next.Version - 1)}
	}
	doing, unanswered := fmt.Sprintf("write head of %s version %d", key, next.Version), false
	for range 2 {
		met, err := s.threads.put(ctx, doing, input)
		if err != nil {
			return store.Outcome{}, err
		}
		if met == nil {
			return store.Outcome{Written: true}, nil
		}
		stored, err := decodeHead(key, met.item)
		if err != nil {
			return store.Outcome{}, err
		}
		unanswered = unanswered || met.unanswered
		if unanswered && bytes.Equal(blobOf(it, attrHead), blobOf(met.item, attrHead)) {
			return store.Outcome{Written: true}, nil
		}
		if stored.Version != next.Version-1 {
			return store.Outcome{Head: stored}, nil
		}
		// There was no head, so that none came back, and the one before next was
		// written until it was looked for: it refuses nothing.
	}
	return store.Outcome{}, core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", doing)
}

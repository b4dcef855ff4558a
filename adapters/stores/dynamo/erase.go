package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
)

// Erase implements [store.Backend]: it reads the names of the records and deletes them
// concurrently. The HEAD is in the same partition, and stays. A call that finds no record
// erases the thread's objects, including those that no record ever named.
func (s *Store) Erase(ctx context.Context, key core.ThreadKey, limit int) (int, error) {
	if err := key.Check(); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, core.Errorf(core.CodeInvalid, "erase %d records, at least 1 is allowed", limit)
	}
	pk, err := partition(key)
	if err != nil {
		return 0, err
	}
	doing := fmt.Sprintf("erase %s", key)
	names, err := s.recordNames(ctx, doing, pk, limit)
	if err != nil {
		return 0, err
	}
	if len(names) == 0 && s.objects != nil {
		return 0, during(doing, s.objects.Erase(ctx, folder(key)))
	}
	errs := make([]error, len(names))
	sideBySide(len(names), func(i int) {
		_, errs[i] = s.threads.remove(ctx, doing, &dynamodb.DeleteItemInput{Key: item{attrPK: pk, attrSK: names[i]}})
	})
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return len(names), nil
}

// recordNames are the sort keys of at most limit records, the expired ones included. It
// is billed for whole items, as every query is.
func (s *Store) recordNames(ctx context.Context, doing string, pk types.AttributeValue, limit int) ([]types.AttributeValue, error) {
	input := &dynamodb.QueryInput{
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(int32(min(limit, maxErase)) + 1), // one may be the head
		KeyConditionExpression:    aws.String("pk = :pk"),
		ProjectionExpression:      aws.String(attrSK),
		ExpressionAttributeValues: item{":pk": pk},
	}
	var names []types.AttributeValue
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		if textOf(it, attrSK) == headName {
			continue
		}
		if names = append(names, it[attrSK]); len(names) == min(limit, maxErase) {
			break
		}
	}
	return names, nil
}

// maxErase bounds a call that was asked for more.
const maxErase = 1000

package dynamo

import (
	"context"
	"errors"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table is one table: what every kind of item is written and read by.
type table struct {
	client *dynamodb.Client
	name   *string
}

// refusal is what a conditional write met. nil: it was written.
type refusal struct {
	item       item // that prevented the write; may be nil
	unanswered bool // an earlier try of the same call may have been applied
}

// put sends a write, which may have a condition.
func (t table) put(ctx context.Context, doing string, input *dynamodb.PutItemInput) (*refusal, error) {
	input.TableName = t.name
	if input.ConditionExpression != nil {
		input.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	var tries history
	_, err := t.client.PutItem(ctx, input, tries.watch)
	if err == nil {
		wrote(ctx, input.Item)
	}
	return t.refusal(ctx, doing, err, &tries, input.Item)
}

// remove sends a deletion, which may have a condition.
func (t table) remove(ctx context.Context, doing string, input *dynamodb.DeleteItemInput) (*refusal, error) {
	input.TableName = t.name
	if input.ConditionExpression != nil {
		input.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	var tries history
	_, err := t.client.DeleteItem(ctx, input, tries.watch)
	if err == nil {
		wrote(ctx, input.Key)
	}
	return t.refusal(ctx, doing, err, &tries, input.Key)
}

// update changes an item under a condition, and returns the changed item.
func (t table) update(ctx context.Context, doing string, input *dynamodb.UpdateItemInput) (after item, met *refusal, err error) {
	input.TableName = t.name
	input.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	var tries history
	out, err := t.client.UpdateItem(ctx, input, tries.watch)
	if err == nil {
		wroteIn(ctx, out.Attributes) // what is listed of it does not change
		return out.Attributes, nil, nil
	}
	met, err = t.refusal(ctx, doing, err, &tries, input.Key)
	return nil, met, err
}

// refusal finds out what a write to the item with a key met, from its error.
func (t table) refusal(ctx context.Context, doing string, err error, tries *history, key item) (*refusal, error) {
	if err == nil {
		return nil, nil
	}
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, tries.outcome(doing, err)
	}
	wrote(ctx, key) // it costs what the write would have
	met := &refusal{item: failed.Item, unanswered: tries.unanswered}
	if len(met.item) > 0 {
		return met, nil
	}
	// The endpoint does not return it, or it does not exist.
	met.item, err = t.get(ctx, doing, key[attrPK], key[attrSK])
	return met, err
}

// get reads one item, strongly consistent; nil if it does not exist.
func (t table) get(ctx context.Context, doing string, pk, sk types.AttributeValue) (item, error) {
	var tries history
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      t.name,
		Key:            item{attrPK: pk, attrSK: sk},
		ConsistentRead: aws.Bool(true),
	}, tries.watch)
	if err != nil {
		return nil, tries.outcome(doing, err)
	}
	read(ctx, true, out.Item)
	return out.Item, nil
}

// scan reads one page of a scan.
func (t table) scan(ctx context.Context, doing string, input *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	input.TableName = t.name
	var tries history
	out, err := t.client.Scan(ctx, input, tries.watch)
	if err != nil {
		return nil, tries.outcome(doing, err)
	}
	return out, nil
}

// items goes through the items of a query; an error is the last it yields.
func (t table) items(ctx context.Context, doing string, query *dynamodb.QueryInput) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for page, err := range t.pages(ctx, doing, query) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range page {
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// pages goes through the pages of a query; an error is the last it yields.
func (t table) pages(ctx context.Context, doing string, query *dynamodb.QueryInput) iter.Seq2[[]item, error] {
	return func(yield func([]item, error) bool) {
		input := *query
		input.TableName = t.name
		for {
			var tries history
			out, err := t.client.Query(ctx, &input, tries.watch)
			if err != nil {
				yield(nil, tries.outcome(doing, err))
				return
			}
			read(ctx, aws.ToBool(input.ConsistentRead), out.Items...)
			if !yield(out.Items, nil) {
				return
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			input.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}

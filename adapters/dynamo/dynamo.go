package dynamo

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// API is what the store needs of DynamoDB; *dynamodb.Client implements it.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

var _ API = (*dynamodb.Client)(nil)

// Options configures a Store. The zero value works.
type Options struct {
	Table string           // default "threads"
	Now   func() time.Time // decides what has expired; default time.Now
}

// Store implements [store.Backend] on DynamoDB. It is safe for concurrent use.
type Store struct {
	client API
	table  *string
	now    func() time.Time
}

var _ store.Backend = (*Store)(nil)

// New returns a store on a table as template.yaml deploys it; for the tests of a
// program on it dynamotest makes one.
func New(client API, o Options) *Store {
	s := &Store{client: client, table: aws.String(cmp.Or(o.Table, "threads")), now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// DuePolicy implements [store.Due]: a grace of two minutes, rounded up to the
// minute, so that quick transitions do not pay for an index write.
func (s *Store) DuePolicy() thread.DuePolicy {
	return thread.DuePolicy{Grace: (2 * time.Minute).Milliseconds(), Round: time.Minute.Milliseconds()}
}

// refusal is what a conditional write met. nil: it was written.
type refusal struct {
	item       item // that stands in the way; nil if there is none (any more)
	unanswered bool // an earlier try of the same call may have been applied
}

// put sends a conditional write.
func (s *Store) put(ctx context.Context, doing string, input *dynamodb.PutItemInput) (*refusal, error) {
	input.TableName = s.table
	input.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	var tries history
	_, err := s.client.PutItem(ctx, input, tries.watch)
	if err == nil {
		return nil, nil
	}
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, tries.outcome(doing, err)
	}
	met := &refusal{item: failed.Item, unanswered: tries.unanswered}
	if len(met.item) > 0 {
		return met, nil
	}
	// The endpoint does not return it, or there is none.
	met.item, err = s.get(ctx, doing, input.Item[attrPK], input.Item[attrSK])
	return met, err
}

// get reads one item, strongly consistent; nil when there is none.
func (s *Store) get(ctx context.Context, doing string, pk, sk types.AttributeValue) (item, error) {
	var tries history
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      s.table,
		Key:            item{attrPK: pk, attrSK: sk},
		ConsistentRead: aws.Bool(true),
	}, tries.watch)
	if err != nil {
		return nil, tries.outcome(doing, err)
	}
	return out.Item, nil
}

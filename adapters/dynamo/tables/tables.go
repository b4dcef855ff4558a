package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// schema describes the table of threads: on-demand, string keys pk and sk, and the sparse
// indexes "due" (g, d) and "waiting" (w, o), of keys only, and "listed" (l, m), with
// payloads. template.yaml deploys the same, with attribute x as its time to live.
func schema(table string) *dynamodb.CreateTableInput {
	key := func(hash, sorted string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sorted), KeyType: types.KeyTypeRange},
		}
	}
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   key("pk", "sk"),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("g"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("d"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("w"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("o"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("l"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("m"), AttributeType: types.ScalarAttributeTypeS},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index("due", key("g", "d")), index("waiting", key("w", "o")), index("listed", key("l", "m"), "p", "z"),
		},
	}
}

// index describes an index that has the keys of its items, and the attributes that are
// named.
func index(name string, keys []types.KeySchemaElement, attributes ...string) types.GlobalSecondaryIndex {
	projection := &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	if len(attributes) > 0 {
		projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: attributes}
	}
	return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: keys, Projection: projection}
}

// configSchema describes the table of profiles and configuration snapshots, which
// has neither index nor time to live.
func configSchema(table string) *dynamodb.CreateTableInput {
	input := schema(table)
	input.AttributeDefinitions = input.AttributeDefinitions[:2]
	input.GlobalSecondaryIndexes = nil
	return input
}

// Create makes a table of threads as template.yaml deploys it, waits until it
// serves, a minute at most, and turns its time to live on. A table that exists is
// kept as it is.
func Create(ctx context.Context, client *dynamodb.Client, table string) error {
	made, err := ensure(ctx, client, schema(table))
	if err != nil || !made {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("x"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("enable time to live of table %s: %w", table, err)
	}
	return nil
}

// CreateConfig makes a table of profiles and configuration snapshots in the
// same way.
func CreateConfig(ctx context.Context, client *dynamodb.Client, table string) error {
	_, err := ensure(ctx, client, configSchema(table))
	return err
}

// ensure makes a table and waits until it serves; made is false when it exists.
func ensure(ctx context.Context, client *dynamodb.Client, input *dynamodb.CreateTableInput) (made bool, err error) {
	table := *input.TableName
	_, err = client.CreateTable(ctx, input)
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create table %s: %w", table, err)
	}
	ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute); err != nil {
		return false, fmt.Errorf("wait for table %s: %w", table, err)
	}
	return true, nil
}

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

// Create makes the tables of these names as template.yaml deploys them, and waits until
// they serve, a minute at most: that of threads, and that of profiles and configuration
// snapshots; an empty name makes no table. A table that exists keeps its keys and indexes. The
// time to live of threads is turned on where it is off, for the table may be one whose
// making was cut short.
func Create(ctx context.Context, client *dynamodb.Client, threads, config string) error {
	if threads != "" {
		if err := createThreads(ctx, client, threads); err != nil {
			return err
		}
	}
	if config != "" {
		return ensure(ctx, client, configSchema(config))
	}
	return nil
}

func createThreads(ctx context.Context, client *dynamodb.Client, table string) error {
	if err := ensure(ctx, client, schema(table)); err != nil {
		return err
	}
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err != nil {
		return fmt.Errorf("describe time to live of table %s: %w", table, err)
	}
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil // DynamoDB refuses to turn it on again
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

// ensure makes a table, unless it exists, and waits until it is active. That it exists
// may be the response to a second attempt of this call, after the first response was
// lost.
func ensure(ctx context.Context, client *dynamodb.Client, input *dynamodb.CreateTableInput) error {
	table := *input.TableName
	_, err := client.CreateTable(ctx, input)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", table, err)
	}
	ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", table, err)
	}
	return nil
}

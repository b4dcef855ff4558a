//go:build aws

package dynamo_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/adapters/awsenv"
	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// client reaches the endpoint that the environment names and makes a table that
// lives as long as the test.
func client(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	if os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") == "" {
		t.Fatal("AWS_ENDPOINT_URL_DYNAMODB is not set: these tests need an endpoint; make test-aws starts one and sets it")
	}
	c, err := dynamo.NewClient(awsenv.Config{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatalf("%v; make test-aws sets it", err)
	}
	table := fmt.Sprintf("threads-%d", time.Now().UnixNano())
	if err := dynamo.CreateTable(t.Context(), c, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
			t.Error(err)
		}
	})
	return c, table
}

func TestContract(t *testing.T) {
	c, table := client(t)
	storetest.Options{MaxPayload: dynamo.MaxPayload}.Run(t, func(t *testing.T) store.Backend { return dynamo.New(c, dynamo.Options{Table: table}) })
}

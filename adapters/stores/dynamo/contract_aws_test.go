//go:build aws

package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/tables"
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
	if err := tables.Create(t.Context(), c, table, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteTable(t, c, table) })
	return c, table
}

// configTable makes the other table, which lives as long as the test.
func configTable(t testing.TB, c *dynamodb.Client) string {
	t.Helper()
	table := fmt.Sprintf("config-%d", time.Now().UnixNano())
	if err := tables.Create(t.Context(), c, "", table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteTable(t, c, table) })
	return table
}

// deleteTable deletes a table. One that is gone is none of its errors: the client
// sends again what took too long, and the first request may have been heard.
func deleteTable(t testing.TB, c *dynamodb.Client, table string) {
	t.Helper()
	_, err := c.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
	var gone *types.ResourceNotFoundException
	if err != nil && !errors.As(err, &gone) {
		t.Error(err)
	}
}

func TestContract(t *testing.T) {
	maker, table := client(t)
	config := configTable(t, maker)
	c, err := dynamo.NewClient(awsenv.Config{
		Transport: stopping{http.DefaultTransport}, Timeout: 30 * time.Second,
		Backoff: func(int) time.Duration { return 0 }, MaxAttempts: 8, // there is no pause between attempts, and a busy moto closes connections
	})
	if err != nil {
		t.Fatal(err)
	}
	reopen := func(t *testing.T, _ store.Backend) store.Backend {
		another, err := dynamo.NewClient(awsenv.Config{Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return dynamo.New(another, dynamo.Options{Table: table, ConfigTable: config})
	}
	options := storetest.Options{MaxPayload: 350 << 10, Stop: stop, Reopen: reopen}
	options.Run(t, func(t *testing.T) store.Backend {
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: config})
	})
}

// writesLeft is the context key of how many more writes a caller may send.
type writesLeft struct{}

// stop returns a context under which so many writes are sent and no more, as if
// the process died then.
func stop(ctx context.Context, writes int) context.Context {
	left := new(atomic.Int64)
	left.Store(int64(writes))
	return context.WithValue(ctx, writesLeft{}, left)
}

// stopping is a transport that obeys stop. Updates go one after the other: moto reads and
// writes an item in two steps, which DynamoDB does in one.
type stopping struct{ http.RoundTripper }

var updates sync.Mutex

var errStopped = errors.New("the process is gone")

func (s stopping) RoundTrip(r *http.Request) (*http.Response, error) {
	left, ok := r.Context().Value(writesLeft{}).(*atomic.Int64)
	if ok && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") && left.Add(-1) < 0 {
		return nil, errStopped
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		updates.Lock()
		defer updates.Unlock()
	}
	return s.RoundTripper.RoundTrip(r)
}

//go:build aws

package dynamo_test

import (
	"flag"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var linearHistories = flag.Int("linear.histories", 20, "histories to check")

func TestHistoriesAreLinearizable(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes with moto; make test has the same test of the other stores")
	}
	storetest.Options{}.Linearizable(t, func(t *testing.T) store.Backend {
		maker, table := client(t)
		c, err := dynamo.NewClient(awsenv.Config{Transport: &oneWrite{RoundTripper: http.DefaultTransport}, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, maker)})
	}, *linearHistories)
}

// oneWrite is a transport that sends one write at a time, as long as it takes.
// DynamoDB compares and writes an item in one step; moto does it in two, and takes no
// lock against its other threads.
type oneWrite struct {
	http.RoundTripper
	mu sync.Mutex
}

func (o *oneWrite) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
		o.mu.Lock()
		defer o.mu.Unlock()
	}
	return o.RoundTripper.RoundTrip(r)
}

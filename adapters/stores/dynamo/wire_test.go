package dynamo

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
)

var key = core.ThreadKey{Tenant: "acme", Thread: "t1"}

// at is the time of every store in these tests.
const at = int64(1_000_000)

// The encoded heads of testHead(1, 0), (2, 0) and (2, 120_000), and of a rival's
// version 2.
const (
	head1     = "AQEBwAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUAAAAAAAAAAAAAAAA="
	head2     = "AQECwAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUAAAAAAAAAAAAAAAA="
	head2Due  = "AQECwAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUAAADAqQcAAAAAAAAAAA=="
	headRival = "AQECwAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYAAAAAAAAAAAAAAAA="
)

// wire is a DynamoDB that replies what the test has written down, and keeps the
// requests.
type wire struct {
	t       *testing.T
	replies []reply

	mu       sync.Mutex
	requests []request
}

// reply is one response; err is what the transport fails with instead.
type reply struct {
	status int // default 200
	body   string
	err    error
}

type request struct{ operation, body string }

// The faults. A lost response may or may not have been applied.
var (
	lost      = reply{err: os.ErrDeadlineExceeded}
	broken    = reply{status: 500, body: `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"try again"}`}
	garbled   = reply{body: `<html>`}
	invalid   = refuse("ValidationException")
	throttle  = refuse("ProvisionedThroughputExceededException")
	throttle2 = refuse("ThrottlingException")
	throttle3 = refuse("RequestLimitExceeded")
	done      = reply{body: `{}`}
)

func refuse(code string) reply {
	return reply{status: 400, body: `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"refused"}`}
}

// conflict is a failed condition that returns the stored item; "" returns none.
func conflict(stored string) reply {
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"`
	if stored != "" {
		body += `,"Item":` + stored
	}
	return reply{status: 400, body: body + `}`}
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w.requests = append(w.requests, request{operation, string(body)})
	if len(w.requests) > len(w.replies) {
		w.t.Errorf("request %d is one too many: %s %s", len(w.requests), operation, core.Excerpt(string(body)))
		return nil, errors.New("no reply is left")
	}
	next := w.replies[len(w.requests)-1]
	if next.err != nil {
		return nil, next.err
	}
	if next.status == 0 {
		next.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: next.status,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(next.body)),
		Request:    r,
	}, nil
}

// operations lists what was asked, in order.
func (w *wire) operations() string {
	names := make([]string, len(w.requests))
	for i, r := range w.requests {
		names[i] = r.operation
	}
	return strings.Join(names, " ")
}

// scripted returns a store whose requests get the replies in order. The test
// fails when one is left over.
func scripted(t *testing.T, replies ...reply) (*Store, *wire) {
	t.Helper()
	w := &wire{t: t, replies: replies}
	t.Cleanup(func() {
		if len(w.requests) < len(w.replies) {
			t.Errorf("requests were %q, want %d of them", w.operations(), len(w.replies))
		}
	})
	return New(testClient(t, w), Options{Now: func() time.Time { return time.Unix(at, 0) }}), w
}

func testClient(t testing.TB, transport http.RoundTripper) *dynamodb.Client {
	t.Helper()
	environment := map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
	client, err := NewClient(awsenv.Config{
		Getenv:    func(name string) string { return environment[name] },
		Transport: transport,
		Backoff:   func(int) time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// wantJSON compares JSON texts whatever the order of their keys.
func wantJSON(t *testing.T, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("the wanted JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

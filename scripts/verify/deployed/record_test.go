//go:build aws

package deployed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// recorder passes requests on to an endpoint of AWS and keeps what was called, as
// "ACTION RESOURCE", the resource being an ARN.
type recorder struct {
	sync.Mutex
	calls map[string]int    // how often
	meter *dynamotest.Meter // nil: units are not counted
	full  *throttle         // refuses requests to DynamoDB; nil: none
}

// endpoint is one that records for one function.
func (r *recorder) endpoint(tb testing.TB, target string) string {
	tb.Helper()
	to, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host }}
	if r.meter != nil {
		proxy.Transport = unitsOnly{r.meter}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if errors.Is(err, io.ErrUnexpectedEOF) { // the caller has given up while it sent: AWS reads no request then either
			return
		}
		if err != nil {
			tb.Error(err)
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		if target := q.Header.Get("X-Amz-Target"); target != "" {
			r.keep(tb, target, body)
			if r.full.meets(w, target, body) {
				return
			}
		} else {
			r.keepObject(tb, q)
		}
		proxy.ServeHTTP(w, q)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// keep reads what a request is for. The batch of a queue needs the permission of
// its single action.
func (r *recorder) keep(tb testing.TB, target string, body []byte) {
	var request struct{ TableName, IndexName, QueueUrl string }
	if err := json.Unmarshal(body, &request); err != nil {
		tb.Errorf("%s: %v", target, err)
	}
	service, operation, _ := strings.Cut(target, ".")
	call := ""
	switch {
	case strings.HasPrefix(service, "DynamoDB_") && request.TableName != "":
		call = "dynamodb:" + operation + " arn:aws:dynamodb:" + stack.Region + ":" + stack.Account + ":table/" + request.TableName
		if request.IndexName != "" {
			call += "/index/" + request.IndexName
		}
	case service == "AmazonSQS" && request.QueueUrl != "":
		name := request.QueueUrl[strings.LastIndex(request.QueueUrl, "/")+1:]
		call = "sqs:" + strings.TrimSuffix(operation, "Batch") + " arn:aws:sqs:" + stack.Region + ":" + stack.Account + ":" + name
	default:
		tb.Errorf("a call that this test cannot assign: %s %s", target, body)
	}
	r.add(call)
}

// keepObject reads what a request to S3 is for, whose path begins with the bucket.
func (r *recorder) keepObject(tb testing.TB, q *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
	operation, ok := map[string]string{"GET": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}[q.Method]
	resource := "arn:aws:s3:::" + bucket + "/*"
	if key == "" && q.Method == "GET" {
		operation, resource = "ListBucket", "arn:aws:s3:::"+bucket
	}
	if !ok || bucket == "" {
		tb.Errorf("a call that this test cannot assign: %s %s", q.Method, q.URL)
	}
	r.add("s3:" + operation + " " + resource)
}

func (r *recorder) add(call string) {
	r.Lock()
	defer r.Unlock()
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	r.calls[call]++
}

// number is how many calls there were whose text begins so.
func (r *recorder) number(prefix string) (n int) {
	r.Lock()
	defer r.Unlock()
	for call, times := range r.calls {
		if strings.HasPrefix(call, prefix) {
			n += times
		}
	}
	return n
}

// unitsOnly meters what goes to DynamoDB, and passes everything else on.
type unitsOnly struct{ meter *dynamotest.Meter }

// RoundTrip implements http.RoundTripper.
func (u unitsOnly) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasPrefix(q.Header.Get("X-Amz-Target"), "DynamoDB_") {
		return u.meter.RoundTrip(q)
	}
	return http.DefaultTransport.RoundTrip(q)
}

func (r *recorder) all() []string {
	r.Lock()
	defer r.Unlock()
	return slices.Sorted(maps.Keys(r.calls))
}

// inTurn is an endpoint of DynamoDB that lets one write through at a time. DynamoDB looks at
// a condition and stores in one step; moto lets another write in between.
func inTurn(tb testing.TB) string {
	tb.Helper()
	to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		tb.Fatal(err)
	}
	var turn sync.Mutex
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if target := q.Header.Get("X-Amz-Target"); strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".UpdateItem") {
			turn.Lock()
			defer turn.Unlock()
		}
		proxy.ServeHTTP(w, q)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

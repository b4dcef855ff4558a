package s3

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func bucket(t *testing.T, name, endpoint string, transport http.RoundTripper) *Bucket {
	t.Helper()
	pairs := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL_S3": endpoint}
	b, err := New(awsenv.Config{Getenv: func(name string) string { return pairs[name] }, Transport: transport, Backoff: func(int) time.Duration { return 0 }}, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// served is a bucket whose server responds so.
func served(t *testing.T, status int, body string) *Bucket {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return bucket(t, "payloads", server.URL, nil)
}

func failure(code string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>m</Message></Error>`
}

func TestWhatRefusalsMean(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		code   core.Code
		text   string
	}{
		{"slow down", 503, failure("SlowDown"), core.CodeThrottled, "put object k: store is throttling: status 503"},
		{"too many", 429, "", core.CodeThrottled, "put object k: store is throttling: status 429"},
		{"out of order", 503, failure("ServiceUnavailable"), core.CodeUnavailable, "put object k: outcome unknown: status 503 ServiceUnavailable"},
		{"an error", 500, failure("InternalError"), core.CodeUnavailable, "put object k: outcome unknown: status 500 InternalError"},
		{"denied", 403, failure("AccessDenied"), core.CodeInternal, "put object k: status 403 AccessDenied"},
		{"another region", 301, failure("PermanentRedirect"), core.CodeInternal, "put object k: status 301 PermanentRedirect"},
		{"no bucket", 404, failure("NoSuchBucket"), core.CodeInternal, "put object k: status 404 NoSuchBucket"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := served(t, tt.status, tt.body).Put(t.Context(), "k", []byte("x"))
			if core.CodeOf(err) != tt.code || err.Error() != tt.text {
				t.Errorf("error %v (%s), want %s (%s)", err, core.CodeOf(err), tt.text, tt.code)
			}
			if errors.Is(err, store.ErrThrottled) != (tt.code == core.CodeThrottled) {
				t.Errorf("%v is or is not ErrThrottled", err)
			}
		})
	}
}

// TestOnlyAMissingObjectIsMissing: a bucket that is gone, or may not be read, is no
// reason to take a record for corrupt.
func TestOnlyAMissingObjectIsMissing(t *testing.T) {
	if _, ok, err := served(t, 404, failure("NoSuchKey")).Get(t.Context(), "k", 10); ok || err != nil {
		t.Errorf("no such key: %v, %v", ok, err)
	}
	for _, code := range []string{"NoSuchBucket", "AccessDenied"} {
		if _, ok, err := served(t, 404, failure(code)).Get(t.Context(), "k", 10); ok || core.CodeOf(err) != core.CodeInternal {
			t.Errorf("%s: %v, %v", code, ok, err)
		}
	}
}

func TestEraseDeletesWhatIsListedUntilNothingIs(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	pages := []string{"<Key>acme/a%3Ab/1</Key><Key>acme/a%3Ab/2</Key>", "<Key>acme/a%3Ab/3</Key>", ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodDelete {
			asked = append(asked, r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		asked = append(asked, r.URL.RequestURI())
		_, _ = fmt.Fprintf(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>payloads</Name>%s</ListBucketResult>`, pages[0])
		pages = pages[1:]
	}))
	defer server.Close()
	if err := bucket(t, "payloads", server.URL, nil).Erase(t.Context(), "acme/a:b/"); err != nil {
		t.Fatal(err)
	}
	if asked[1] > asked[2] { // they go side by side
		asked[1], asked[2] = asked[2], asked[1]
	}
	const list = "/payloads/?encoding-type=url&list-type=2&prefix=acme%2Fa%3Ab%2F"
	if diff := cmp.Diff([]string{list, "/payloads/acme/a:b/1", "/payloads/acme/a:b/2", list, "/payloads/acme/a:b/3", list}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestEraseDeletesNothingElse: a response that is no list, or of another prefix, is an
// error and not the end of the work.
func TestEraseDeletesNothingElse(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"no list", `<html></html>`, "list objects of acme/t/: the response is not a list"},
		{"half a list", `<ListBucketResult><Key>acme/t/1</Key>`, "list objects of acme/t/: the response is not a list"},
		{"another's object", `<ListBucketResult><Key>acme/t2/1</Key></ListBucketResult>`, "list objects of acme/t/: the response has acme/t2/1"},
		{"a bad escape", `<ListBucketResult><Key>acme/t/%zz</Key></ListBucketResult>`, "list objects of acme/t/: the response has acme/t/%zz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := served(t, 200, tt.body).Erase(t.Context(), "acme/t/"); core.CodeOf(err) != core.CodeUnavailable || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

type seen struct{ url string }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.url = r.URL.String()
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func TestWhereABucketIs(t *testing.T) {
	for _, tt := range []struct{ name, endpoint, want string }{
		{"payloads", "", "https://payloads.s3.eu-west-1.amazonaws.com/t/k"},
		{"pay.loads", "", "https://s3.eu-west-1.amazonaws.com/pay.loads/t/k"},
		{"payloads", "http://127.0.0.1:9000", "http://127.0.0.1:9000/payloads/t/k"},
	} {
		var s seen
		if err := bucket(t, tt.name, tt.endpoint, &s).Put(t.Context(), "t/k", nil); err != nil || s.url != tt.want {
			t.Errorf("%s, %v, want %s", s.url, err, tt.want)
		}
	}
}

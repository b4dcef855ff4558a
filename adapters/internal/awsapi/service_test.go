package awsapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
)

// told is a transport that responds as it is told, and keeps the requests.
type told struct {
	statuses []int // 0: no response
	body     string
	requests []*http.Request
	bodies   []string
}

func (f *told) RoundTrip(r *http.Request) (*http.Response, error) {
	f.requests = append(f.requests, r)
	body, _ := io.ReadAll(r.Body)
	f.bodies = append(f.bodies, string(body))
	status := f.statuses[0]
	f.statuses = f.statuses[1:]
	if status == 0 {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

// examples are the keys of the examples in S3's documentation of signatures.
func examples(endpoint string) map[string]string {
	return map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"AWS_ENDPOINT_URL_S3": endpoint,
	}
}

func s3(t *testing.T, f *told, pairs map[string]string) *Service {
	t.Helper()
	s, err := New(awsenv.Config{Getenv: environment(pairs), Transport: f, Backoff: func(int) time.Duration { return 0 }}, Options{
		Title: "S3", Signing: "s3", Endpoint: "AWS_ENDPOINT_URL_S3",
		Now: func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSignaturesAreThoseOfTheDocumentation: "Signature Calculations for the
// Authorization Header" of S3's API reference has the requests and their signatures.
func TestSignaturesAreThoseOfTheDocumentation(t *testing.T) {
	tests := []struct {
		name string
		call Call
		want string
	}{
		{"an object", Call{Method: "GET", Path: "/test.txt", Header: http.Header{"Range": {"bytes=0-9"}}}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"a list", Call{Method: "GET", Query: url.Values{"max-keys": {"2"}, "prefix": {"J"}}}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &told{statuses: []int{200}}
			if _, err := s3(t, f, examples("https://examplebucket.s3.amazonaws.com")).Send(t.Context(), tt.call); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(f.requests[0].Header.Get("Authorization"), "Signature=")
			if got != tt.want {
				t.Errorf("signature %s, want %s", got, tt.want)
			}
		})
	}
}

// TestPathsAreEscapedAsAWSDoes: what is sent is what was signed.
func TestPathsAreEscapedAsAWSDoes(t *testing.T) {
	f := &told{statuses: []int{200}}
	call := Call{Method: "PUT", Path: "/acme/a:b c/0f", Query: url.Values{"prefix": {"a b+c"}}, Body: []byte("x")}
	if _, err := s3(t, f, examples("http://127.0.0.1:1/base/")).Send(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if got, want := f.requests[0].URL.String(), "http://127.0.0.1:1/base/acme/a%3Ab%20c/0f?prefix=a%20b%2Bc"; got != want {
		t.Errorf("sent to %s, want %s", got, want)
	}
	if got, want := f.requests[0].Header.Get("X-Amz-Content-Sha256"), "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestWhichCallsAreTriedAgain(t *testing.T) {
	tests := []struct {
		name     string
		statuses []int
		tries    int
		want     int // the status; 0: an error
	}{
		{"a success", []int{200}, 1, 200},
		{"a refusal", []int{403, 200}, 1, 403},
		{"a redirect", []int{301, 200}, 1, 301},
		{"too many requests", []int{429, 200}, 2, 200},
		{"slow down", []int{503, 503, 503, 200}, 3, 503},
		{"no response", []int{0, 500, 204}, 3, 204},
		{"never a response", []int{0, 0, 0, 200}, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &told{statuses: tt.statuses}
			response, err := s3(t, f, examples("")).Send(t.Context(), Call{Method: "PUT", Path: "/k", Body: []byte("whole")})
			if response.Status != tt.want || (err == nil) != (tt.want != 0) {
				t.Errorf("status %d, %v, want %d", response.Status, err, tt.want)
			}
			if diff := cmp.Diff(strings.Split(strings.Repeat("whole,", tt.tries-1)+"whole", ","), f.bodies); diff != "" {
				t.Errorf("bodies that were sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAResponseIsBounded(t *testing.T) {
	f := &told{statuses: []int{200, 200}, body: string(bytes.Repeat([]byte("x"), 10))}
	s := s3(t, f, examples(""))
	if r, err := s.Send(t.Context(), Call{Method: "GET", Most: 10}); err != nil || len(r.Body) != 10 {
		t.Errorf("%d bytes, %v", len(r.Body), err)
	}
	if r, err := s.Send(t.Context(), Call{Method: "GET", Most: 9}); err != nil || len(r.Body) != 9 {
		t.Errorf("%d bytes, %v", len(r.Body), err)
	}
}

func TestWhereServicesAre(t *testing.T) {
	tests := []struct{ name, region, signing, label, endpoint, want string }{
		{"a region", "eu-west-1", "events", "", "", "https://events.eu-west-1.amazonaws.com/"},
		{"the government's", "us-gov-west-1", "events", "", "", "https://events.us-gov-west-1.amazonaws.com/"},
		{"China's", "cn-north-1", "events", "", "", "https://events.cn-north-1.amazonaws.com.cn/"},
		{"a bucket", "eu-west-1", "s3", "payloads", "", "https://payloads.s3.eu-west-1.amazonaws.com/"},
		{"another endpoint", "eu-west-1", "s3", "payloads", "http://127.0.0.1:1", "http://127.0.0.1:1/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &told{statuses: []int{200}}
			pairs := examples(tt.endpoint)
			pairs["AWS_REGION"] = tt.region
			s, err := New(awsenv.Config{Getenv: environment(pairs), Transport: f}, Options{Title: "S", Signing: tt.signing, Label: tt.label, Endpoint: "AWS_ENDPOINT_URL_S3"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Send(t.Context(), Call{Method: "GET"}); err != nil {
				t.Fatal(err)
			}
			if got := f.requests[0].URL.String(); got != tt.want {
				t.Errorf("sent to %s, want %s", got, tt.want)
			}
			if got := f.requests[0].Header.Get("Authorization"); !strings.Contains(got, "/"+tt.region+"/"+tt.signing+"/aws4_request") {
				t.Errorf("signed as %s", got)
			}
		})
	}
}

package lambda

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is what a handler can see of a request.
type seen struct {
	Method, Path, EscapedPath, RequestURI, Host, RemoteAddr, Body string
	Query                                                         map[string][]string
	Header                                                        http.Header
	Length                                                        int64
}

func see(t *testing.T, r *http.Request) seen {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return seen{
		Method: r.Method, Path: r.URL.Path, EscapedPath: r.URL.EscapedPath(), RequestURI: r.RequestURI,
		Host: r.Host, RemoteAddr: r.RemoteAddr, Body: string(body), Query: r.URL.Query(), Header: r.Header, Length: r.ContentLength,
	}
}

func TestRequestOfEveryShape(t *testing.T) {
	tests := []struct {
		file string
		want seen
	}{
		{"function-url.json", seen{
			Method: "POST", Path: "/v1/threads/a/b/café", EscapedPath: "/v1/threads/a%2Fb/caf%C3%A9",
			RequestURI: "/v1/threads/a%2Fb/caf%C3%A9?tag=x&tag=y%20z&empty=",
			Host:       "abcdefghij.lambda-url.eu-central-1.on.aws", RemoteAddr: "203.0.113.7:0",
			Body: "{\"text\":\"hello\"}\n", Length: 17,
			Query: map[string][]string{"tag": {"x", "y z"}, "empty": {""}},
			Header: http.Header{
				"Accept": {"application/json, text/event-stream"}, "Content-Length": {"18"}, "Content-Type": {"application/json"},
				"Cookie": {"sid=abc; theme=dark"}, "User-Agent": {"curl/8.11.0"}, "X-Amzn-Tls-Cipher-Suite": {"TLS_AES_128_GCM_SHA256"},
				"X-Amzn-Trace-Id": {"Root=1-6740b2f5-0c2f6b5a3d1e4f5a6b7c8d9e"}, "X-Forwarded-For": {"203.0.113.7"},
				"X-Forwarded-Port": {"443"}, "X-Forwarded-Proto": {"https"},
			},
		}},
		{"rest.json", seen{
			Method: "GET", Path: "/v1/threads/t:1/runs", EscapedPath: "/v1/threads/t%3A1/runs",
			RequestURI: "/v1/threads/t%3A1/runs?limit=10&tag=x&tag=y+z",
			Host:       "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com", RemoteAddr: "[2001:db8::7]:0",
			Query:  map[string][]string{"limit": {"10"}, "tag": {"x", "y z"}},
			Header: http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {"r.1.2.3"}, "X-Forwarded-For": {"2001:db8::7"}, "X-Tag": {"a", "b"}},
		}},
		{"http-api.json", seen{
			Method: "PUT", Path: "/v1/100% sure", EscapedPath: "/v1/100%25%20sure", RequestURI: "/v1/100%25%20sure?limit=10",
			Host: "f6g7h8i9j0.execute-api.eu-central-1.amazonaws.com", RemoteAddr: "203.0.113.7:0", Body: "ping", Length: 4,
			Query: map[string][]string{"limit": {"10"}},
			Header: http.Header{
				"Accept": {"application/json, text/event-stream"}, "Content-Length": {"4"}, "Content-Type": {"text/plain"}, "X-Forwarded-For": {"203.0.113.7"},
			},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			event, err := readHTTPEvent(readEvent[json.RawMessage](t, tt.file), doorURL)
			if err != nil {
				t.Fatal(err)
			}
			r, err := event.request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, see(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestPaths(t *testing.T) {
	tests := []struct{ name, event, path, uri string }{
		{"empty", `{"version":"2.0","rawPath":"","requestContext":{"http":{"method":"GET"}}}`, "/", "/"},
		{"no slash", `{"httpMethod":"GET","path":"v1"}`, "/v1", "/v1"},
		{"a decoded question mark", `{"httpMethod":"GET","path":"/a?b"}`, "/a?b", "/a%3Fb"},
		{"single query values", `{"httpMethod":"GET","path":"/","queryStringParameters":{"a":"b c"}}`, "/", "/?a=b+c"},
		{"the default stage", `{"version":"2.0","rawPath":"/prod/x","requestContext":{"stage":"$default","domainName":"a.execute-api.eu.amazonaws.com","http":{"method":"GET"}}}`, "/prod/x", "/prod/x"},
		{"the stage alone", `{"version":"2.0","rawPath":"/prod","requestContext":{"stage":"prod","domainName":"a.execute-api.eu.amazonaws.com","http":{"method":"GET"}}}`, "/", "/"},
		{"a longer first segment", `{"version":"2.0","rawPath":"/products","requestContext":{"stage":"prod","domainName":"a.execute-api.eu.amazonaws.com","http":{"method":"GET"}}}`, "/products", "/products"},
		{"a custom domain", `{"version":"2.0","rawPath":"/prod/x","requestContext":{"stage":"prod","domainName":"api.example.com","http":{"method":"GET"}}}`, "/prod/x", "/prod/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			event, err := readHTTPEvent(json.RawMessage(tt.event), doorURL)
			if err != nil {
				t.Fatal(err)
			}
			r, err := event.request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.URL.Path != tt.path || r.RequestURI != tt.uri {
				t.Errorf("path %q, URI %q; want %q, %q", r.URL.Path, r.RequestURI, tt.path, tt.uri)
			}
		})
	}
}

func TestEventThatIsNoRequestIsAnError(t *testing.T) {
	for _, event := range []string{``, `null`, `[]`, `{}`, `{"Records":[]}`, `{"version":"2.0","httpMethod":"GET"}`} {
		for name, handle := range map[string]func(context.Context, json.RawMessage) (any, error){
			"stream":   Handlers{Logger: quiet}.Stream(http.NotFoundHandler()),
			"buffered": Handlers{Logger: quiet}.Buffered(http.NotFoundHandler()),
		} {
			if response, err := handle(t.Context(), json.RawMessage(event)); err == nil {
				t.Errorf("%s of %q returned %v", name, event, response)
			}
		}
	}
}

package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
)

// withoutID ignores the header of every response.
var withoutID = cmp.FilterPath(func(p cmp.Path) bool {
	at, ok := p.Last().(cmp.MapIndex)
	return ok && at.Key().String() == "X-Request-Id"
}, cmp.Ignore())

// routed is a handler with the outcomes of requests, by their path.
func routed() http.Handler {
	mux := http.NewServeMux()
	for pattern, f := range map[string]http.HandlerFunc{
		"GET /v1/threads/{thread}": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"GET /half": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			panic("secret")
		},
		"GET /panic": func(http.ResponseWriter, *http.Request) { panic("secret") },
		"GET /stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			requestlog.Of(r.Context()).Stream(requestlog.Ended)
		},
		"GET /broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			panic("secret")
		},
		"GET /nothing": func(http.ResponseWriter, *http.Request) {},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			requestlog.Of(r.Context()).Route(r)
			f(w, r)
		})
	}
	return mux
}

// lines returns a logger and what it writes for requests, without times.
func lines() (*slog.Logger, func() string) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "ms" {
			return slog.Attr{}
		}
		return a
	}}))
	return log, func() string {
		var all []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "msg=request ") {
				all = append(all, line)
			}
		}
		return strings.Join(all, "")
	}
}

func TestEachRequestHasALine(t *testing.T) {
	const (
		front = `{"version":"2.0","rawPath":"PATH","requestContext":{"requestId":"front","http":{"method":"GET"}}}`
		rest  = `{"httpMethod":"GET","path":"PATH","requestContext":{"requestId":"front"}}`
		begin = `level=INFO msg=request method=GET `
	)
	tests := []struct{ name, event, path, buffered, streamed string }{
		{"a response", front, "/v1/threads/t1", `route="GET /v1/threads/{thread}" request=front invocation=inner thread=t1 status=200 bytes=5`, `route="GET /v1/threads/{thread}" request=front invocation=inner thread=t1 status=200 bytes=5`},
		{"one of a REST API", rest, "/v1/threads/t1", `route="GET /v1/threads/{thread}" request=front invocation=inner thread=t1 status=200 bytes=5`, `route="GET /v1/threads/{thread}" request=front invocation=inner thread=t1 status=200 bytes=5`},
		{"an unknown route", front, "/v1/none", `route=unmatched request=front invocation=inner status=404 bytes=19`, `route=unmatched request=front invocation=inner status=404 bytes=19`},
		{"a panic", front, "/panic", `route="GET /panic" request=front invocation=inner status=500 bytes=44 aborted=true`, `route="GET /panic" request=front invocation=inner status=500 bytes=44 aborted=true`},
		{"a panic after half a response", front, "/half", `route="GET /half" request=front invocation=inner status=500 bytes=44 aborted=true`, `route="GET /half" request=front invocation=inner status=200 bytes=5 aborted=true`},
		{"a stream", front, "/stream", `route="GET /stream" request=front invocation=inner status=200 bytes=9 stream=ended`, `route="GET /stream" request=front invocation=inner status=200 bytes=9 stream=ended`},
		{"a broken stream", rest, "/broken", `route="GET /broken" request=front invocation=inner status=500 bytes=44 aborted=true`, `route="GET /broken" request=front invocation=inner status=200 bytes=74 stream=failed aborted=true`},
		{"no body", front, "/nothing", `route="GET /nothing" request=front invocation=inner status=200 bytes=0`, `route="GET /nothing" request=front invocation=inner status=200 bytes=0`},
		{"a malformed body", `{"httpMethod":"POST","body":"%","isBase64Encoded":true,"requestContext":{"requestId":"front"}}`, "", `route=unmatched request=front invocation=inner status=400 bytes=78`, `route=unmatched request=front invocation=inner status=400 bytes=78`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "inner"})
			event := json.RawMessage(strings.Replace(tt.event, "PATH", tt.path, 1))
			log, written := lines()
			response, err := Handlers{Logger: log}.Buffered(routed())(ctx, event)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(); got != begin+tt.buffered+"\n" {
				t.Errorf("buffered: %swant %s%s", got, begin, tt.buffered)
			}
			switch r := response.(type) {
			case events.APIGatewayProxyResponse:
				if got := r.MultiValueHeaders["X-Request-Id"]; len(got) != 1 || got[0] != "front" {
					t.Errorf("the response has the id %q", got)
				}
			case events.APIGatewayV2HTTPResponse:
				if got := r.Headers["X-Request-Id"]; got != "front" {
					t.Errorf("the response has the id %q", got)
				}
			}
			log, written = lines()
			streamed, err := Handlers{Logger: log}.Stream(routed())(ctx, event)
			if err != nil {
				t.Fatal(err)
			}
			head, _ := io.ReadAll(streamed.(io.Reader))
			if err := streamed.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			if got := written(); got != begin+tt.streamed+"\n" {
				t.Errorf("streamed: %swant %s%s", got, begin, tt.streamed)
			}
			if !strings.Contains(string(head), `"X-Request-Id":"front"`) {
				t.Errorf("the response has no id: %s", head)
			}
		})
	}
}

// Without the ids of AWS, a request has one of its own.
func TestARequestWithoutAnIDGetsOne(t *testing.T) {
	log, written := lines()
	if _, err := (Handlers{Logger: log}).Buffered(routed())(t.Context(), json.RawMessage(restGet)); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(written(), " request=")
	if id, _, _ := strings.Cut(rest, " "); len(id) != 36 {
		t.Errorf("line %s", written())
	}
}

// A handler that is not done in time: the line has the status that the client got.
func TestALateHandlerHasTheLineOfItsResponse(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"before a response": {func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }, `status=504 bytes=52 aborted=true`},
		"within a stream": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			time.Sleep(time.Minute)
			requestlog.Of(r.Context()).Stream(requestlog.Ended)
		}, `status=200 bytes=82 stream=failed aborted=true`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				log, written := lines()
				response, err := Handlers{Logger: log}.Stream(tt.handler)(ctx, json.RawMessage(urlGet))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadAll(response.(io.Reader))
				_ = response.(io.Closer).Close()
				if got := written(); !strings.HasSuffix(got, tt.want+"\n") {
					t.Errorf("line %swant ...%s", got, tt.want)
				}
			})
		})
	}
}

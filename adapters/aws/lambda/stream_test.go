package lambda

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/google/go-cmp/cmp"
)

// prelude is the metadata in front of a streamed response.
type prelude struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

// opened is a streamed response as the runtime client sees it.
type opened struct {
	prelude
	body  *bufio.Reader
	close func() error
}

func open(t *testing.T, ctx context.Context, h http.Handler, event string) opened {
	t.Helper()
	response, err := Handlers{Logger: quiet}.Stream(h)(ctx, json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	o := opened{body: bufio.NewReader(response.(io.Reader)), close: response.(io.Closer).Close}
	head, err := o.body.ReadBytes(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(head[:len(head)-1], &o.prelude); err != nil {
		t.Fatalf("prelude %q: %v", head, err)
	}
	for _, name := range []string{"X-Request-Id", "x-request-id"} { // every response has it: see TestEachRequestHasALine
		delete(o.Headers, name)
	}
	if len(o.Headers) == 0 {
		o.Headers = nil
	}
	if nuls, _ := io.ReadAll(io.LimitReader(o.body, 7)); string(nuls) != "\x00\x00\x00\x00\x00\x00\x00" {
		t.Fatalf("after the prelude: %q", nuls)
	}
	return o
}

const (
	urlGet   = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET"}}}`
	urlHead  = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"HEAD"}}}`
	restGet  = `{"httpMethod":"GET","path":"/"}`
	internal = `{"error":"internal error","code":"internal"}`
)

func TestStreamResponds(t *testing.T) {
	sse := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream; charset=utf-8") }
	tests := []struct {
		name     string
		event    string
		handler  http.HandlerFunc
		want     prelude
		body     string
		wantType string // of the read error that ends the body; empty: io.EOF
	}{
		{
			name: "a header of several values to a Function URL", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Add("X-A", "1")
				w.Header().Add("X-A", "2")
				w.Header().Set("Connection", "close")
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
				http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
				w.WriteHeader(http.StatusCreated)
				w.Header().Set("X-Late", "1")
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, "hello ")
				_, _ = io.WriteString(w, "world")
			},
			want: prelude{StatusCode: 201, Headers: map[string]string{"X-A": "1, 2", "Content-Type": "text/plain; charset=utf-8"}, Cookies: []string{"a=1", "b=2"}},
			body: "hello world",
		},
		{
			name: "and to a REST API", event: restGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["X-A"] = []string{"1", "2"}
				w.Header().Set("X-B", "3")
				w.Header().Set("Set-Cookie", "a=1")
				_, _ = io.WriteString(w, "<html>")
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"X-B": "3", "Content-Type": "text/html; charset=utf-8"}, MultiValueHeaders: map[string][]string{"X-A": {"1", "2"}}, Cookies: []string{"a=1"}},
			body: "<html>",
		},
		{
			name: "HEAD", event: urlHead,
			handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
			want:    prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8"}},
		},
		{
			name: "a length of nothing that has left", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "0")
				w.Header().Set("Content-Type", "text/plain")
				_ = http.NewResponseController(w).Flush()
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"Content-Length": "0", "Content-Type": "text/plain"}},
		},
		{
			name: "a status that is none", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(99) },
			want:    prelude{StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}},
			body:    internal,
		},
		{
			name: "no content", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
				if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
					panic(err)
				}
			},
			want: prelude{StatusCode: 204},
		},
		{
			name: "nothing at all", event: urlGet,
			handler: func(http.ResponseWriter, *http.Request) {},
			want:    prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8"}}, body: "\n",
		},
		{
			name: "a status alone", event: restGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "0")
				w.WriteHeader(http.StatusAccepted)
			},
			want: prelude{StatusCode: 202, Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8"}}, body: "\n",
		},
		{
			name: "a panic before anything left", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				sse(w)
				w.WriteHeader(http.StatusOK)
				panic("secret")
			},
			want: prelude{StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}}, body: internal,
		},
		{
			name: "a panic in an event stream", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				sse(w)
				_, _ = io.WriteString(w, "data: 1\n\n")
				panic("secret")
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}},
			body: "data: 1\n\nevent: error\ndata: " + internal + "\n\n", wantType: "Reveille.BrokenStream",
		},
		{
			name: "a panic inside an event", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				sse(w)
				_, _ = io.WriteString(w, "data: 1")
				panic("secret")
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}},
			body: "data: 1\n\nevent: error\ndata: " + internal + "\n\n", wantType: "Reveille.BrokenStream",
		},
		{
			name: "a panic after a flushed header", event: restGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				sse(w)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				panic("secret")
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}},
			body: "event: error\ndata: " + internal + "\n\n", wantType: "Reveille.BrokenStream",
		},
		{
			name: "a panic in another stream", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				_, _ = io.WriteString(w, "{}\n")
				panic(http.ErrAbortHandler)
			},
			want: prelude{StatusCode: 200, Headers: map[string]string{"Content-Type": "application/x-ndjson"}},
			body: "{}\n", wantType: "Reveille.BrokenStream",
		},
		{
			name: "a goroutine that exits", event: urlGet,
			handler: func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
			want:    prelude{StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}}, body: internal,
		},
		{
			name: "an impossible status", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(7) },
			want:    prelude{StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}}, body: internal,
		},
		{
			name: "early hints", event: urlGet,
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				http.Error(w, "gone", http.StatusGone)
			},
			want: prelude{StatusCode: 410, Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}}, body: "gone\n",
		},
		{
			name: "a malformed body", event: `{"httpMethod":"POST","body":"%","isBase64Encoded":true}`,
			handler: func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") },
			want:    prelude{StatusCode: 400, Headers: map[string]string{"Content-Type": "application/json"}},
			body:    `{"error":"request body: illegal base64 data at input byte 0","code":"invalid"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := open(t, t.Context(), tt.handler, tt.event)
			body, err := io.ReadAll(o.body)
			if diff := cmp.Diff(tt.want, o.prelude); diff != "" {
				t.Error(diff)
			}
			if string(body) != tt.body {
				t.Errorf("body = %q, want %q", body, tt.body)
			}
			var broken messages.InvokeResponse_Error
			errors.As(err, &broken)
			if broken.Type != tt.wantType {
				t.Errorf("the body ends with %v, want %q", err, tt.wantType)
			}
			if err := o.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStreamReturnsPointers(t *testing.T) {
	handle := Handlers{Logger: quiet}.Stream(http.NotFoundHandler())
	response, _ := handle(t.Context(), json.RawMessage(urlGet))
	if r, ok := response.(*events.LambdaFunctionURLStreamingResponse); !ok {
		t.Errorf("Function URL: %T", response)
	} else {
		_ = r.Close()
	}
	response, _ = handle(t.Context(), json.RawMessage(restGet))
	if r, ok := response.(*events.APIGatewayProxyStreamingResponse); !ok {
		t.Errorf("REST API: %T", response)
	} else {
		_ = r.Close()
	}
}

// The handler gets on only after the client has read what it wrote.
func TestStreamLeavesAsItIsWritten(t *testing.T) {
	read := make(chan struct{})
	o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-read
		_, _ = io.WriteString(w, "one\n")
		<-read
		_, _ = io.WriteString(w, "two\n")
	}), urlGet)
	read <- struct{}{}
	if line, err := o.body.ReadString('\n'); line != "one\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	read <- struct{}{}
	if rest, err := io.ReadAll(o.body); string(rest) != "two\n" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
	_ = o.close()
}

func TestStreamIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := 0
		o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				n, _ := w.Write(bytes.Repeat([]byte("x"), 32<<10))
				written += n
			}
		}), urlGet)
		synctest.Wait() // the reader of the prelude took up to 4 KB of the body
		if written != 64<<10 {
			t.Errorf("wrote %d bytes ahead of the client, want 64 KiB", written)
		}
		body, err := io.ReadAll(o.body)
		if len(body) != 320<<10 || err != nil {
			t.Errorf("read %d bytes, %v", len(body), err)
		}
		_ = o.close()
	})
}

func TestCloseWaitsForTheHandlerWithoutAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		o := open(t, t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute)
			if err := r.Context().Err(); err != nil {
				t.Errorf("a disconnect cancelled the request: %v", err)
			}
			ended = true
		}), urlGet)
		_ = o.close()
		if !ended {
			t.Error("the handler outlives its invocation")
		}
	})
}

func TestRequestContextEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		o := open(t, ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			if got := time.Since(started); got != 28*time.Second {
				t.Errorf("the request's context ended after %v", got)
			}
			_, _ = io.WriteString(w, "data: bye\n\n")
		}), urlGet)
		if body, err := io.ReadAll(o.body); string(body) != "data: bye\n\n" || err != nil {
			t.Errorf("body = %q, %v", body, err)
		}
		_ = o.close()
	})
}

func TestStreamOfAStuckHandlerBreaks(t *testing.T) {
	const late = `{"error":"no response in time","code":"unavailable"}`
	tests := []struct {
		name       string
		before     func(w http.ResponseWriter)
		wantStatus int
		wantBody   string
		wantBroken bool
	}{
		{"before anything left", func(http.ResponseWriter) {}, 504, late, false},
		{"in an event stream", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
		}, 200, "data: 1\n\nevent: error\ndata: " + late + "\n\n", true},
		{"in a blocked write", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, strings.Repeat("x", 65<<10))
		}, 200, strings.Repeat("x", 64<<10), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				response, err := Handlers{Logger: quiet}.Stream(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					tt.before(w)
					time.Sleep(time.Hour)
					if _, err := io.WriteString(w, "more"); err == nil {
						t.Error("a write after the end succeeded")
					}
				}))(ctx, json.RawMessage(restGet))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(29 * time.Second)
				synctest.Wait()
				r := response.(*events.APIGatewayProxyStreamingResponse)
				body, err := io.ReadAll(r.Body)
				if r.StatusCode != tt.wantStatus || string(body) != tt.wantBody || (err != nil) != tt.wantBroken {
					t.Errorf("status %d, body %.80q (%d bytes), error %v", r.StatusCode, body, len(body), err)
				}
				_ = r.Close()
			})
		})
	}
}

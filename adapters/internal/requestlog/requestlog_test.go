package requestlog_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core/env"
)

// written returns options whose lines are in the buffer, without their time. Each look at the
// clock is 7 ms later than the one before.
func written() (requestlog.Options, *bytes.Buffer) {
	var out bytes.Buffer
	e, now := env.System(), time.UnixMilli(1_780_000_000_000)
	e.Random = func(b []byte) { clear(b) }
	e.Now = func() time.Time { now = now.Add(7 * time.Millisecond); return now }
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return requestlog.Options{Log: log, Env: e}, &out
}

// routed calls f as the handler of a pattern.
func routed(pattern string, f http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		requestlog.Of(r.Context()).Route(r)
		f(w, r)
	})
	return mux
}

func TestTheLineOfARequest(t *testing.T) {
	long := strings.Repeat("x", 100)
	nothing := func(http.ResponseWriter, *http.Request) {}
	stream := func(end requestlog.Ending) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			if end != "" {
				requestlog.Of(r.Context()).Stream(end)
			}
		}
	}
	mount := func(status int) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/mine/", func(w http.ResponseWriter, r *http.Request) {
			requestlog.Of(r.Context()).Mount(r)
			w.WriteHeader(status)
		})
		return mux
	}
	tests := []struct {
		name         string
		method, path string
		handler      http.Handler
		want         string
	}{
		{
			"a route with a thread", "POST", "/v1/threads/t1/runs", routed("POST /v1/threads/{thread}/runs", func(w http.ResponseWriter, r *http.Request) {
				requestlog.Of(r.Context()).Tenant("acme")
				w.WriteHeader(http.StatusAccepted)
				w.WriteHeader(http.StatusTeapot) // the first one counts
				_, _ = io.WriteString(w, "hello")
			}),
			`"level":"INFO","msg":"request","method":"POST","route":"POST /v1/threads/{thread}/runs","request":"ID","tenant":"acme","thread":"t1","status":202,"ms":7,"bytes":5`,
		},
		{
			"a route with a run", "GET", "/v1/runs/r1", routed("GET /v1/runs/{run}", nothing),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /v1/runs/{run}","request":"ID","run":"r1","status":200,"ms":7,"bytes":0`,
		},
		{
			"a thread in the body", "POST", "/v1/chat", routed("/v1/chat", func(_ http.ResponseWriter, r *http.Request) { requestlog.Of(r.Context()).Thread("t2") }),
			`"level":"INFO","msg":"request","method":"POST","route":"POST /v1/chat","request":"ID","thread":"t2","status":200,"ms":7,"bytes":0`,
		},
		{
			"a trigger", "POST", "/v1/triggers/orders", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				line := requestlog.Of(r.Context())
				line.Named("POST /v1/triggers/{name}")
				line.Trigger("orders")
			}),
			`"level":"INFO","msg":"request","method":"POST","route":"POST /v1/triggers/{name}","request":"ID","trigger":"orders","status":200,"ms":7,"bytes":0`,
		},
		{
			"no route", "PUT", "/v1/threads/secret", http.NotFoundHandler(),
			`"level":"INFO","msg":"request","method":"PUT","route":"unmatched","request":"ID","status":404,"ms":7,"bytes":19`,
		},
		{
			"another method", "PUT", "/v1/runs/r1", routed("GET /v1/runs/{run}", nothing),
			`"level":"INFO","msg":"request","method":"PUT","route":"unmatched","request":"ID","status":405,"ms":7,"bytes":19`,
		},
		{
			"a mount", "PUT", "/v1/mine/1", mount(201),
			`"level":"INFO","msg":"request","method":"PUT","route":"PUT /v1/mine/","request":"ID","status":201,"ms":7,"bytes":0`,
		},
		{
			"no route in a mount", "PUT", "/v1/mine/1", mount(404),
			`"level":"INFO","msg":"request","method":"PUT","route":"unmatched","request":"ID","status":404,"ms":7,"bytes":0`,
		},
		{
			"another method in a mount", "PUT", "/v1/mine/1", mount(405),
			`"level":"INFO","msg":"request","method":"PUT","route":"unmatched","request":"ID","status":405,"ms":7,"bytes":0`,
		},
		{
			"health", "GET", "/health", routed("GET /health", nothing),
			`"level":"DEBUG","msg":"request","method":"GET","route":"GET /health","request":"ID","status":200,"ms":7,"bytes":0`,
		},
		{
			"life", "HEAD", "/health/live", routed("GET /health/live", nothing),
			`"level":"DEBUG","msg":"request","method":"HEAD","route":"GET /health/live","request":"ID","status":200,"ms":7,"bytes":0`,
		},
		{
			"a stream that ended", "GET", "/s", routed("GET /s", stream(requestlog.Ended)),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /s","request":"ID","status":200,"ms":7,"bytes":9,"stream":"ended"`,
		},
		{
			"a stream without a client", "GET", "/s", routed("GET /s", stream(requestlog.ClientLeft)),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /s","request":"ID","status":200,"ms":7,"bytes":9,"stream":"client_left"`,
		},
		{
			"a library's stream", "GET", "/s", routed("GET /s", stream("")),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /s","request":"ID","status":200,"ms":7,"bytes":9,"stream":"ended"`,
		},
		{
			"a stream that sent nothing", "GET", "/s", routed("GET /s", func(_ http.ResponseWriter, r *http.Request) { requestlog.Of(r.Context()).Stream(requestlog.Ended) }),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /s","request":"ID","status":200,"ms":7,"bytes":0`,
		},
		{
			"values that try to be lines", "GET", "/v1/threads/a%22,%22status%22:200%0A{%22msg%22:%22forged%22}", routed("GET /v1/threads/{thread}", nothing),
			`"level":"INFO","msg":"request","method":"GET","route":"GET /v1/threads/{thread}","request":"ID","thread":"a\",\"status\":200\n{\"msg\":\"forged\"}","status":200,"ms":7,"bytes":0`,
		},
		{
			"long values", strings.Repeat("M", 70), "/v1/threads/" + long, routed("/v1/threads/{thread}", nothing),
			`"level":"INFO","msg":"request","method":"` + strings.Repeat("M", 61) + `...","route":"` + strings.Repeat("M", 61) + `... /v1/threads/{thread}","request":"ID","thread":"` + long[:61] + `...","status":200,"ms":7,"bytes":0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, out := written()
			rec := httptest.NewRecorder()
			requestlog.Handler(tt.handler, o).ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, http.NoBody))
			id := rec.Header().Get("X-Request-Id")
			if len(id) != 36 {
				t.Errorf("the response has the id %q", id)
			}
			if got, want := out.String(), "{"+strings.Replace(tt.want, "ID", id, 1)+"}\n"; got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}

// A panic passes, so that the server closes the connection.
func TestAPanicHasALine(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"before a response", "/none", `"status":500,"ms":7,"bytes":0,"aborted":true`},
		{"within a response", "/some", `"status":200,"ms":7,"bytes":4,"aborted":true`},
		{"within a stream", "/stream", `"status":200,"ms":7,"bytes":4,"stream":"failed","aborted":true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, out := written()
			handler := requestlog.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/stream" {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				if r.URL.Path != "/none" {
					_, _ = io.WriteString(w, "some")
				}
				panic("secret")
			}), o)
			defer func() {
				if got := recover(); got != "secret" {
					t.Errorf("recovered %v", got)
				}
				if got := out.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "secret") || strings.Count(got, "\n") != 1 {
					t.Errorf("got %swant %s", got, tt.want)
				}
			}()
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", tt.path, http.NoBody))
		})
	}
}

// A library's stream whose client has left: the context tells.
func TestAStreamEndsWithItsClient(t *testing.T) {
	o, out := written()
	ctx, cancel := context.WithCancel(t.Context())
	handler := requestlog.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_ = http.NewResponseController(w).Flush()
		cancel()
	}), o)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", http.NoBody))
	if got := out.String(); !strings.Contains(got, `"bytes":0,"stream":"client_left"`) {
		t.Error(got)
	}
}

// Only the first end counts, and a request without a line has no line.
func TestALineIsWrittenOnce(t *testing.T) {
	o, out := written()
	r, line := requestlog.Start(httptest.NewRequest("GET", "/", http.NoBody), o, "front", "inner")
	if requestlog.Of(r.Context()) != line || line.ID() != "front" {
		t.Error("the request has another line")
	}
	line.End(requestlog.Response{Status: 201})
	line.End(requestlog.Response{Status: 202})
	want := `{"level":"INFO","msg":"request","method":"GET","route":"unmatched","request":"front","invocation":"inner","status":201,"ms":7,"bytes":0}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	none := requestlog.Of(t.Context())
	none.Route(r)
	none.Tenant("acme")
	none.End(requestlog.Response{})
}

// The cost of a line in infra/cost.md is that of 350 bytes.
func TestTheSizeOfALine(t *testing.T) {
	var out bytes.Buffer
	o := requestlog.Options{Log: slog.New(slog.NewJSONHandler(&out, nil)), Env: env.System()}
	const id = "01a22730-d0be-7433-93f8-a093f1dcc5bc"
	r, line := requestlog.Start(httptest.NewRequest("POST", "/v1/ai-sdk/chat", http.NoBody), o, "Kx3lPgDyFiAEMzw=", id)
	routed("POST /v1/ai-sdk/chat", func(_ http.ResponseWriter, r *http.Request) {
		line := requestlog.Of(r.Context())
		line.Tenant("default")
		line.Thread(id)
		line.Stream(requestlog.Ended)
	}).ServeHTTP(httptest.NewRecorder(), r)
	line.End(requestlog.Response{Status: 200, Bytes: 21_000, Stream: true})
	if n := out.Len(); n < 300 || n > 350 {
		t.Errorf("%d bytes: %s", n, out.String())
	}
}

// The two ids are one if the front end is Lambda itself.
func TestAnInvocationIsNamedOnce(t *testing.T) {
	o, out := written()
	_, line := requestlog.Start(httptest.NewRequest("GET", "/", http.NoBody), o, "one", "one")
	line.End(requestlog.Response{})
	if got := out.String(); strings.Contains(got, "invocation") || !strings.Contains(got, `"request":"one"`) {
		t.Error(got)
	}
}

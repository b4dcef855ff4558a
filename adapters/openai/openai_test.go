package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

const testKey = "sk-secret-0123456789"

// serve lets the handler respond to every request and returns a model of it.
func serve(t testing.TB, handler http.HandlerFunc) *Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m, err := New(Options{APIKey: testKey, BaseURL: server.URL + "/v1/"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// replies is a handler that responds with the stream.
func replies(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}
}

var request = model.Request{Model: "m", Messages: []core.Message{core.UserMessage("1", "hi")}}

// lines writes a stream as one short line a delta, the error last.
func lines(stream iter.Seq2[model.Delta, error]) []string {
	var out []string
	for d, err := range stream {
		if err != nil {
			out = append(out, "error "+err.Error())
			continue
		}
		switch d.Type {
		case model.DeltaText:
			out = append(out, "text "+d.Text)
		case model.DeltaReasoning:
			out = append(out, "reasoning "+d.Text)
		case model.DeltaToolStart:
			out = append(out, fmt.Sprintf("call %d %s %s", d.Index, d.CallID, d.Name))
		case model.DeltaToolArgument:
			out = append(out, fmt.Sprintf("argument %d %s", d.Index, d.Text))
		case model.DeltaUsage:
			b, _ := json.Marshal(d.Usage)
			out = append(out, "usage "+string(b))
		case model.DeltaStop:
			out = append(out, "stop "+string(d.Stop))
		}
	}
	return out
}

func TestRequestReachesTheServer(t *testing.T) {
	var got http.Header
	var path, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, path, body = r.Header, r.URL.Path, string(b)
		replies("data: [DONE]\n\n")(w, r)
	}))
	defer server.Close()
	m, err := New(Options{APIKey: testKey, Organization: "org-1", BaseURL: server.URL + "/v1/"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stop end_turn"}, lines(m.Stream(t.Context(), request))); diff != "" {
		t.Error(diff)
	}
	headers := map[string]string{}
	for _, name := range []string{"Authorization", "OpenAI-Organization", "Content-Type", "Accept"} {
		headers[name] = got.Get(name)
	}
	if diff := cmp.Diff(map[string]string{
		"Authorization":       "Bearer sk-secret-0123456789",
		"OpenAI-Organization": "org-1",
		"Content-Type":        "application/json",
		"Accept":              "text/event-stream",
	}, headers); diff != "" {
		t.Error(diff)
	}
	if path != "/v1/chat/completions" {
		t.Errorf("path %q", path)
	}
	want := `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

func TestConnectionIsUsedAgainAfterACompleteTurn(t *testing.T) {
	var remotes []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		remotes = append(remotes, r.RemoteAddr)
		replies("data: [DONE]\n\n")(w, r)
	})
	lines(m.Stream(t.Context(), request))
	lines(m.Stream(t.Context(), request))
	if len(remotes) != 2 || remotes[0] != remotes[1] {
		t.Errorf("connections %q, want the same one twice", remotes)
	}
}

// endless streams text until the client goes away, which it then reports.
func endless(gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client go
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}
}

func TestBreakingOutClosesTheConnection(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, endless(gone))
	for d, err := range m.Stream(t.Context(), request) {
		if err != nil || d.Text != "a" {
			t.Errorf("delta %+v, error %v", d, err)
		}
		break
	}
	<-gone
}

func TestCancelledContextEndsTheStream(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, endless(gone))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for d, err := range m.Stream(ctx, request) {
		if d.Text == "a" {
			cancel()
		}
		last = err
	}
	<-gone
	if !errors.Is(last, context.Canceled) || model.Transient(last) {
		t.Errorf("error %v, want a cancellation that is not transient", last)
	}
}

// silent is a transport whose response says what it has to say and then nothing
// until the request's context ends.
type silent struct{ says string }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(s.says), blocked{r.Context()}), io.NopCloser(nil)}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
}

type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func TestSilenceIsBounded(t *testing.T) {
	tests := []struct {
		name, says string
		idle       time.Duration // of the model
		asked      time.Duration // of the request
		want       []string
		kind       model.ErrorKind
		waited     time.Duration
	}{
		{"nothing came at all", "", 0, 0, []string{"error openai: nothing came for 1m0s"}, model.KindTimeout, 60 * time.Second},
		{"as the request says", "", 5 * time.Second, 2 * time.Minute, []string{"error openai: nothing came for 2m0s"}, model.KindTimeout, 2 * time.Minute},
		{"comments are no turn", ": PROCESSING\n\n", 0, 0, []string{"error openai: nothing came for 1m0s"}, model.KindTimeout, 60 * time.Second},
		{"the turn had begun", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", 5 * time.Second, 0,
			[]string{"text a", "error openai: nothing came for 5s"}, model.KindInterrupted, 5 * time.Second},
		{"only the usage is missing", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", 0, 0,
			[]string{"text a", "stop end_turn"}, "", 60 * time.Second},
		{"the connection stays open after the end", "data: [DONE]\n\n", 0, 0, []string{"stop end_turn"}, "", 250 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := New(Options{IdleTimeout: test.idle, HTTPClient: &http.Client{Transport: silent{test.says}}})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var got []string
				var kind model.ErrorKind
				request := request
				request.StreamIdleTimeout = test.asked
				for d, err := range m.Stream(t.Context(), request) {
					var e *model.Error
					if errors.As(err, &e) {
						kind = e.Kind
					}
					got = append(got, lines(func(yield func(model.Delta, error) bool) { yield(d, err) })...)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
				if kind != test.kind {
					t.Errorf("kind %q, want %q", kind, test.kind)
				}
				if waited := time.Since(began); waited != test.waited {
					t.Errorf("waited %v, want %v", waited, test.waited)
				}
			})
		})
	}
}

func TestASlowConsumerIsNotASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"
		m, err := New(Options{HTTPClient: &http.Client{Transport: silent{says}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Stream(t.Context(), request) {
			if err != nil {
				t.Error(err)
			}
			<-time.After(10 * time.Minute)
		}
	})
}

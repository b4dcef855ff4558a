package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

const testKey = "sk-secret-0123456789"

// serve lets the handler respond to every request and returns a model of it.
func serve(t testing.TB, handler http.HandlerFunc) *chatProvider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m, err := openChat(Options{APIKey: testKey, BaseURL: server.URL + "/v1/"})
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

var request = model.Request{Model: "m", Messages: []core.Message{core.UserMessage("hi").WithID("1")}}

// echoed shows what a delta wants back.
func echoed(d model.Delta) string {
	if d.Echo == nil {
		return ""
	}
	return "echo " + string(d.Echo)
}

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
			out = append(out, "text "+d.Text+echoed(d))
		case model.DeltaReasoning:
			out = append(out, "reasoning "+d.Text+echoed(d))
		case model.DeltaToolStart:
			out = append(out, strings.TrimSpace(fmt.Sprintf("call %d %s %s %s", d.Index, d.CallID, d.Name, echoed(d))))
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
	m, err := openChat(Options{APIKey: testKey, Organization: "org-1", BaseURL: server.URL + "/v1/"})
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

package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const testKey = "AIza-test-81c5"

func tokens(list ...string) secret.Source {
	return func(_ context.Context, refused secret.String) (secret.String, error) {
		for len(list) > 1 && refused.Equal(secret.New(list[0])) {
			list = list[1:]
		}
		return secret.New(list[0]), nil
	}
}

func TestOptionsAreChecked(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    string // of the error; "" none
	}{
		{"zero", Options{}, ""},
		{"Vertex AI", Options{Token: tokens("a"), BaseURL: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/"}, ""},
		{"no scheme", Options{BaseURL: "localhost:8080"}, `gemini: base URL "localhost:8080" is not an absolute http or https URL`},
		{"a query", Options{BaseURL: "https://x/v1?key=b"}, "gemini: base URL has a user, a query or a fragment; it may have a path only"},
		{"key with a line end", Options{APIKey: testKey + "\n"}, "gemini: API key has a space, a line end or another character that a header cannot carry"},
		{"two keys", Options{APIKey: testKey, Key: tokens("a")}, "gemini: both an API key and a source of keys are set, want one of them"},
		{"a key and tokens", Options{APIKey: testKey, Token: tokens("a")}, "gemini: both an API key and a source of tokens are set, want one of them"},
		{"a source of keys and tokens", Options{Key: tokens("a"), Token: tokens("a")}, "gemini: both an API key and a source of tokens are set, want one of them"},
		{"negative timeout", Options{IdleTimeout: -time.Second}, "gemini: idle timeout -1s is negative"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := open(test.options)
			got := ""
			if err != nil {
				got = err.Error()
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q, want invalid", core.CodeOf(err))
				}
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	tests := []struct{ base, model, want string }{
		{"", "gemini-3-flash-preview", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"},
		{"", "tunedModels/mine", "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		{"http://127.0.0.1:1/v1/projects/p/publishers/google/", "gemini-2.5-pro@001", "http://127.0.0.1:1/v1/projects/p/publishers/google/models/gemini-2.5-pro@001:streamGenerateContent?alt=sse"},
	}
	for _, test := range tests {
		m, err := open(Options{BaseURL: test.base})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.endpoint(test.model); err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", test.model, got, err, test.want)
		}
	}
	m, err := open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.client.Idle != 60*time.Second || m.client.HTTP.Timeout != 0 {
		t.Errorf("idle %v, timeout %v", m.client.Idle, m.client.HTTP.Timeout)
	}
	if m, err = open(Options{IdleTimeout: time.Second}); err != nil || m.client.Idle != time.Second {
		t.Errorf("idle %v, %v", m.client.Idle, err)
	}
	for _, name := range []string{"a/", "/a", "a//b", "a/./b", "a b", "modèle", "š", "a%2f"} {
		if got, err := m.endpoint(name); err == nil {
			t.Errorf("%q is at %s", name, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    []string // key and authorization of each request
	}{
		{"none", Options{}, []string{"|"}},
		{"a key", Options{APIKey: testKey}, []string{testKey + "|"}},
		{"a key that was replaced", Options{Key: tokens("old", testKey)}, []string{"old|", testKey + "|"}},
		{"a token", Options{Token: tokens("token")}, []string{"|Bearer token"}},
		{"a token that has expired", Options{Token: tokens("old", "token")}, []string{"|Bearer old", "|Bearer token"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent := r.Header.Get("X-Goog-Api-Key") + "|" + r.Header.Get("Authorization")
				got = append(got, sent)
				if _, ok := r.Header["X-Goog-Api-Key"]; ok && strings.HasPrefix(sent, "|") {
					t.Error("an empty key is sent")
				}
				if r.Method != http.MethodPost || r.URL.RequestURI() != "/models/m:streamGenerateContent?alt=sse" {
					t.Errorf("%s %s", r.Method, r.URL.RequestURI())
				}
				if strings.Contains(sent, "old") {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, data(finishing("STOP")))
			}))
			defer server.Close()
			test.options.BaseURL = server.URL
			m, err := open(test.options)
			if err != nil {
				t.Fatal(err)
			}
			request := model.Request{Model: "m", Messages: []core.Message{core.UserMessage("Go.").WithID("u")}}
			if diff := cmp.Diff([]string{"stop end_turn"}, lines(m.Stream(t.Context(), request))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	options := Options{APIKey: testKey}
	m, err := open(options)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "options", options, "pointer", &options)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "options", options, "model", m)
	encoded, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	printed := log.String() + string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{options, &options, []Options{options}, m, *m, struct{ m *provider }{m}} {
			printed += fmt.Sprintf(verb, value)
		}
	}
	if strings.Contains(printed, testKey) || strings.Contains(printed, fmt.Sprintf("%x", testKey)) {
		t.Error("the key is in: " + printed)
	}
	if got, want := fmt.Sprint(options), "{APIKey:*** BaseURL: IdleTimeout:0s}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

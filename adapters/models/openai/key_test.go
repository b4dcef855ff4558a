package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// rotated is a source whose secret is keys[0] until it is refused, then keys[1].
type rotated struct {
	keys  []string
	asked []string
	err   error
}

func (r *rotated) source(_ context.Context, refused secret.String) (secret.String, error) {
	r.asked = append(r.asked, refused.Reveal())
	if r.err != nil {
		return secret.String{}, r.err
	}
	if !refused.IsZero() && len(r.keys) > 1 && refused.Equal(secret.New(r.keys[0])) {
		r.keys = r.keys[1:]
	}
	return secret.New(r.keys[0]), nil
}

func TestAKeyThatWasReplacedIsTakenUpOnce(t *testing.T) {
	unavailable := core.Errorf(core.CodeUnavailable, "read secret k: status 503")
	tests := []struct {
		name   string
		source rotated
		sent   []string // Authorization of each request
		asked  []string
		want   string
		kind   model.ErrorKind
	}{
		{"the key is right", rotated{keys: []string{"new"}}, []string{"Bearer new"}, []string{""}, "", ""},
		{"it was replaced", rotated{keys: []string{"old", "new"}}, []string{"Bearer old", "Bearer new"}, []string{"", "old"}, "", ""},
		{"it was replaced by another wrong one", rotated{keys: []string{"old", "bad"}}, []string{"Bearer old", "Bearer bad"}, []string{"", "old"}, "openai: status 401: no such key ***", model.KindUnauthorized},
		{"there is no other", rotated{keys: []string{"old"}}, []string{"Bearer old"}, []string{"", "old"}, "openai: status 401: no such key ***", model.KindUnauthorized},
		{"the store of secrets is out of order", rotated{err: unavailable}, nil, []string{""}, "openai: the API key: read secret k: status 503", model.KindProvider},
		{"there is none", rotated{err: errors.New("read secret k: status 400")}, nil, []string{""}, "openai: the API key: read secret k: status 400", model.KindUnauthorized},
		{"a line end", rotated{keys: []string{"new\n"}}, nil, []string{""}, "openai: the API key has a space, a line end or another character that a header cannot carry", model.KindUnauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				key := r.Header.Get("Authorization")
				sent = append(sent, key)
				if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), `"hello"`) {
					t.Errorf("request %d has the body %s", len(sent), body)
				}
				if key != "Bearer new" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = io.WriteString(w, `{"error":{"message":"no such key `+strings.TrimPrefix(key, "Bearer ")+`"}}`)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer server.Close()
			m, err := openChat(Options{BaseURL: server.URL, Key: tt.source.source})
			if err != nil {
				t.Fatal(err)
			}
			var failed error
			for _, err := range m.Stream(t.Context(), model.Request{Model: "m", Messages: []core.Message{core.UserMessage("hello").WithID("m1")}}) {
				failed = err
			}
			var got *model.Error
			if errors.As(failed, &got); tt.want == "" && failed != nil || tt.want != "" && (got == nil || got.Message != tt.want || got.Kind != tt.kind) {
				t.Errorf("error %v, want %s (%s)", failed, tt.want, tt.kind)
			}
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("keys that were sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, tt.source.asked); diff != "" {
				t.Errorf("keys that were said to be refused (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := openChat(Options{APIKey: "k", Key: (&rotated{}).source}); err == nil {
		t.Error("a key and a source of one are both taken")
	}
}

//go:build vertex

package providers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Gemini and Claude have separate APIs on Vertex AI, and the same credentials.
func TestVertexHasTheModelsOfTwoPublishers(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"t-1","token_type":"Bearer","expires_in":3600}`)
			return
		}
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	text := fmt.Sprintf(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","token_uri":%q}`, server.URL+"/token")
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials)
	m, err := google(agent.ProviderSpec{BaseURL: server.URL + "/v1/publishers/google"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gemini-3-flash", "claude-sonnet-4-5@20250929"} {
		if err := m.(model.Checker).Check(model.Request{Model: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for range m.Stream(t.Context(), model.Request{Model: name, Messages: []core.Message{core.UserMessage("hi").WithID("1")}}) {
		}
	}
	want := []string{"/v1/publishers/google/models/gemini-3-flash:streamGenerateContent Bearer t-1", "/v1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict Bearer t-1"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := m.(model.Checker).Check(model.Request{Model: "claude-opus-5", ReasoningEffort: model.EffortBudget(2000)}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a budget of Claude's newest models: %v, want an error of its adapter", err)
	}
}

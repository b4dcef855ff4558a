package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// On Vertex AI the path names the model, the body has the version, and the key is a token.
func TestRequestsOfVertexAI(t *testing.T) {
	var got string
	url, asked := serve(t, func(r *http.Request) (int, string) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s", r.URL.EscapedPath(), r.Header.Get("Authorization"), body)
		return http.StatusOK, whole
	})
	const said = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stream":true}`
	for name, want := range map[string]string{
		"claude-sonnet-4-5@20250929": `/v1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict Bearer t-1 {"anthropic_version":"vertex-2023-10-16","max_tokens":32000,` + said,
		"claude-sonnet-4-5/../x":     `/v1/publishers/anthropic/models/claude-sonnet-4-5%2F..%2Fx:streamRawPredict Bearer t-1 {"anthropic_version":"vertex-2023-10-16","max_tokens":32000,` + said,
	} {
		m, err := open(Options{Vertex: true, APIKey: "t-1", BaseURL: url + "/v1/publishers/anthropic", Version: "2023-06-01", Betas: []string{"b"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := ask(t, m, model.Request{Model: name, NoPromptCache: true, Messages: []core.Message{core.UserMessage("hi").WithID("1")}})
		if text != "Hi." || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if last := (*asked)[0][len((*asked)[0])-len(`key "" version "" beta "b"`):]; last != `key "" version "" beta "b"` {
		t.Errorf("headers: %s", last)
	}
}

func TestOptionsOfVertexAI(t *testing.T) {
	const want = "anthropic: base URL is missing, want the address of Vertex AI before /models"
	if _, err := New(Options{Vertex: true}); core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
		t.Errorf("without an address: %v, want %s", err, want)
	}
	m, err := open(Options{Vertex: true, BaseURL: "https://x.example/publishers/anthropic"})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Check(model.Request{Model: "claude-opus-5", ProviderOptions: json.RawMessage(`{"anthropic_version":"x"}`)})
	if want := "anthropic: provider_options.anthropic_version is set by the adapter, remove it"; core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

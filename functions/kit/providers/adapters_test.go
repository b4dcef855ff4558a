package providers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/secret"
)

func TestEveryProviderIsAnAdapterButTheScriptedOne(t *testing.T) {
	want := []string{
		"anthropic", "azure", "azure-responses", "bedrock", "deepseek", "gemini", "groq", "llamacpp", "mistral", "ollama", "openai", "openai-responses", "openrouter", "vertex", "vllm", "xai", "zai",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(Adapters()))); diff != "" {
		t.Error(diff)
	}
}

func TestProvidersThatAreData(t *testing.T) {
	key := secret.New("k")
	tests := []struct {
		spec agent.ProviderSpec
		want string
	}{
		{agent.ProviderSpec{Adapter: "openai", APIKey: key}, "*openai.chatProvider"},
		{agent.ProviderSpec{Adapter: "openai", BaseURL: "https://p.example/v1", Options: json.RawMessage(`{"dialect":"vllm","organization":"o"}`)}, "*openai.chatProvider"},
		{agent.ProviderSpec{Adapter: "openai-responses", APIKey: key, Options: json.RawMessage(`{"reasoning_summary":"auto"}`)}, "*openai.responsesProvider"},
		{agent.ProviderSpec{Adapter: "anthropic", APIKey: key, Options: json.RawMessage(`{"version":"2023-06-01","betas":["b"]}`)}, "*anthropic.provider"},
		{agent.ProviderSpec{Adapter: "gemini", APIKey: key, Options: json.RawMessage(`{}`)}, "*gemini.provider"},
		{agent.ProviderSpec{Adapter: "vertex", APIKey: key, Options: json.RawMessage(`{"project":"p","location":"us"}`)}, "*gemini.provider"},
		{agent.ProviderSpec{Adapter: "vertex"}, "this program is built without Google's credentials: set GOOGLE_VERTEX_API_KEY to an API key, or start the local host with `make run MODEL=vertex/NAME`, or build a program with -tags vertex"},
		{agent.ProviderSpec{Adapter: "groq", APIKey: key}, "*openai.chatProvider"},
		{agent.ProviderSpec{Adapter: "bedrock"}, "this program is built without Bedrock: start the local host with `make run MODEL=bedrock/NAME`, or build a program with -tags bedrock (deployed functions have it)"},
		{agent.ProviderSpec{Adapter: "openai", Options: json.RawMessage(`{"dialect":"klingon"}`)}, `openai: dialect "klingon" is unknown, allowed are azure, compatible, deepseek, groq, llamacpp, mistral, ollama, openai, openrouter, vllm, xai, zai`},
		{agent.ProviderSpec{Adapter: "openai", Options: json.RawMessage(`{"dialects":"groq"}`)}, `unknown field "dialects" in options, did you mean "dialect"?`},
		{agent.ProviderSpec{Adapter: "anthropic", Options: json.RawMessage(`{"dialect":"groq"}`)}, `unknown field "dialect" in options, allowed are version, betas`},
		{agent.ProviderSpec{Adapter: "gemini", Options: json.RawMessage(`{"dialect":"groq"}`)}, `unknown field "dialect" in options, none is allowed`},
		{agent.ProviderSpec{Adapter: "openai", BaseURL: "https://p.example/v1", APIKey: secret.New("a b")}, "openai: API key has a space, a line end or another character that a header cannot carry"},
	}
	for _, test := range tests {
		m, err := Adapters()[test.spec.Adapter](test.spec)
		got := fmt.Sprintf("%T", m)
		if err != nil {
			got = err.Error()
			if core.CodeOf(err) != core.CodeInvalid || m != nil {
				t.Errorf("%s has code %q and comes with %v", got, core.CodeOf(err), m)
			}
		}
		if got != test.want {
			t.Errorf("%+v: %s, want %s", test.spec, got, test.want)
		}
	}
}

package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

func TestAProviderThatIsData(t *testing.T) {
	type adapter = func(agent.ProviderSpec) (model.Model, error)
	own := func(options string) agent.ProviderSpec { return agent.ProviderSpec{Options: json.RawMessage(options)} }
	tests := []struct {
		name string
		make adapter
		spec agent.ProviderSpec
		want string // endpoint and dialect, or the error
	}{
		{"OpenAI", Adapter, agent.ProviderSpec{}, "https://api.openai.com/v1/chat/completions openai"},
		{"an address", Adapter, agent.ProviderSpec{BaseURL: "http://127.0.0.1:1/v1"}, "http://127.0.0.1:1/v1/chat/completions compatible"},
		{"a dialect of the options", Adapter, agent.ProviderSpec{BaseURL: "https://p.example/v1", Options: json.RawMessage(`{"dialect":"groq","organization":"o"}`)}, "https://p.example/v1/chat/completions groq"},
		{"the adapter's dialect, named", Adapter, own(`{"dialect":"openai"}`), "https://api.openai.com/v1/chat/completions openai"},
		{"another dialect than the adapter's", DialectGroq.Adapter, own(`{"dialect":"xai"}`), `openai: options.dialect is "xai", which differs from the adapter's, want a base_url, too`},
		{"another dialect than OpenAI's", Adapter, own(`{"dialect":"xai"}`), `openai: options.dialect is "xai", which differs from the adapter's, want a base_url, too`},
		{"Groq", DialectGroq.Adapter, agent.ProviderSpec{}, "https://api.groq.com/openai/v1/chat/completions groq"},
		{"OpenRouter", DialectOpenRouter.Adapter, own("{}"), "https://openrouter.ai/api/v1/chat/completions openrouter"},
		{"DeepSeek", DialectDeepSeek.Adapter, agent.ProviderSpec{}, "https://api.deepseek.com/chat/completions deepseek"},
		{"Z.ai", DialectZAI.Adapter, agent.ProviderSpec{}, "https://api.z.ai/api/paas/v4/chat/completions zai"},
		{"xAI", DialectXAI.Adapter, agent.ProviderSpec{}, "https://api.x.ai/v1/chat/completions xai"},
		{"Mistral", DialectMistral.Adapter, agent.ProviderSpec{}, "https://api.mistral.ai/v1/chat/completions mistral"},
		{"llama.cpp", DialectLlamaCpp.Adapter, agent.ProviderSpec{}, "http://127.0.0.1:8080/v1/chat/completions llamacpp"},
		{"Ollama", DialectOllama.Adapter, agent.ProviderSpec{}, "http://127.0.0.1:11434/v1/chat/completions ollama"},
		{"Ollama elsewhere", DialectOllama.Adapter, agent.ProviderSpec{BaseURL: "https://ollama.example/v1"}, "https://ollama.example/v1/chat/completions ollama"},
		{"vLLM", DialectVLLM.Adapter, agent.ProviderSpec{}, "http://127.0.0.1:8000/v1/chat/completions vllm"},
		{"Azure", DialectAzure.Adapter, agent.ProviderSpec{BaseURL: "https://r.openai.azure.com/"}, "https://r.openai.azure.com/openai/v1/chat/completions azure"},
		{"Azure behind a gateway", DialectAzure.Adapter, agent.ProviderSpec{BaseURL: "https://gateway.example/models/v1"}, "https://gateway.example/models/v1/chat/completions azure"},
		{"Azure by its host", Adapter, agent.ProviderSpec{BaseURL: "https://r.services.ai.azure.com"}, "https://r.services.ai.azure.com/openai/v1/chat/completions azure"},
		{"Azure by its whole address", DialectAzure.Adapter, agent.ProviderSpec{BaseURL: "https://r.openai.azure.com/openai/v1"}, "https://r.openai.azure.com/openai/v1/chat/completions azure"},
		{"Responses of Azure", DialectAzureResponses.Adapter, agent.ProviderSpec{BaseURL: "https://r.openai.azure.com", Options: json.RawMessage(`{"reasoning_summary":"auto"}`)}, "https://r.openai.azure.com/openai/v1/responses auto"},
		{"Responses of Azure behind a gateway", DialectAzureResponses.Adapter, agent.ProviderSpec{BaseURL: "https://gateway.example"}, "https://gateway.example/openai/v1/responses "},
		{"Responses of Azure without an address", DialectAzureResponses.Adapter, agent.ProviderSpec{}, `openai: servers of the dialect "azure" have no default address, want a base URL`},
		{"Azure without an address", DialectAzure.Adapter, agent.ProviderSpec{}, `openai: servers of the dialect "azure" have no default address, want a base URL`},
		{"another server without an address", DialectCompatible.Adapter, agent.ProviderSpec{}, `openai: servers of the dialect "compatible" have no default address, want a base URL`},
		{"an unknown dialect", Adapter, own(`{"dialect":"klingon"}`), `openai: dialect "klingon" is unknown, allowed are azure, compatible, deepseek, groq, llamacpp, mistral, ollama, openai, openrouter, vllm, xai, zai`},
		{"another API", Adapter, own(`{"dialect":"responses"}`), `openai: dialect "responses" is unknown, allowed are azure, compatible, deepseek, groq, llamacpp, mistral, ollama, openai, openrouter, vllm, xai, zai`},
		{"an option of Responses", Adapter, own(`{"reasoning_summary":"auto"}`), `unknown field "reasoning_summary" in options, allowed are dialect, organization`},
		{"Responses", DialectResponses.Adapter, own(`{"reasoning_summary":"auto"}`), "https://api.openai.com/v1/responses auto"},
		{"Responses in a dialect", DialectResponses.Adapter, own(`{"dialect":"groq"}`), `unknown field "dialect" in options, allowed are organization, reasoning_summary`},
		{"two keys", Adapter, agent.ProviderSpec{APIKey: secret.New(testKey), Key: source}, "openai: both an API key and a source of keys are set, want one of them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			made, err := test.make(test.spec)
			got := ""
			switch m := made.(type) {
			case *chatProvider:
				got = m.endpoint + " " + string(m.dialect)
			case *responsesProvider:
				got = m.endpoint + " " + m.summary
			}
			if err != nil {
				got += err.Error()
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q, want invalid", core.CodeOf(err))
				}
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func source(context.Context, secret.String) (secret.String, error) {
	return secret.New("from a source"), nil
}

func TestAProviderHasTheKeyThatItWasGiven(t *testing.T) {
	for want, spec := range map[string]agent.ProviderSpec{
		testKey:         {APIKey: secret.New(testKey)},
		"from a source": {Key: source},
		"":              {},
	} {
		made, err := Adapter(spec)
		if err != nil {
			t.Fatal(err)
		}
		key, err := made.(*chatProvider).client.Key(t.Context(), secret.String{})
		if err != nil || key.Reveal() != want {
			t.Errorf("%v, %v; want %s", fmt.Sprint(key), err, want)
		}
	}
}

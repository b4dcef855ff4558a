package providers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// read are settings of an environment, with a store of one secret.
func read(t *testing.T, environ string) settings.Settings {
	t.Helper()
	s, err := settings.Read(strings.Fields(environ))
	if err != nil {
		t.Fatal(err)
	}
	s.Secret = func(name string) (secret.Source, error) {
		if name != "prod/key" {
			return nil, fmt.Errorf("no secret %s", name)
		}
		return func(context.Context, secret.String) (secret.String, error) { return secret.New("k"), nil }, nil
	}
	return s
}

const all = "openai, openai-responses, anthropic, gemini, vertex, bedrock, azure, azure-responses, groq, openrouter, deepseek, zai, xai, mistral, llamacpp, ollama, vllm, scripted"

func TestWhichModelTheEnvironmentSays(t *testing.T) {
	const (
		variable = "environment variable "
		script   = "*scripted.rules scripted scripted"
	)
	tests := []struct{ name, environ, model, failed string }{
		{"nothing", "", script, ""},
		{"the scripted one beside keys", "REVEILLE_MODEL=scripted OPENAI_API_KEY=k GROQ_API_KEY=k", script, ""},
		{"the scripted one by its full name", "REVEILLE_MODEL=scripted/scripted", script, ""},

		{"a key", "OPENAI_API_KEY=k", "*openai.chatProvider gpt-6-luna openai", ""},
		{"a key and a bare name, as it was", "OPENAI_API_KEY=k REVEILLE_MODEL=gpt-5", "*openai.chatProvider gpt-5 openai", ""},
		{"an address without a key, as local servers have it", "OPENAI_BASE_URL=http://127.0.0.1:11434/v1 REVEILLE_MODEL=qwen3", "*openai.chatProvider qwen3 openai-compatible", ""},
		{"both", "OPENAI_API_KEY=k OPENAI_BASE_URL=https://models.example/v1 REVEILLE_MODEL=openai/m", "*openai.chatProvider m openai-compatible", ""},
		{"another provider's key", "ANTHROPIC_API_KEY=k", "*anthropic.provider claude-haiku-5-5 anthropic", ""},
		{"another provider's key and a bare name with a slash", "GROQ_API_KEY=k REVEILLE_MODEL=qwen/qwen3-32b", "*openai.chatProvider qwen/qwen3-32b groq", ""},
		{"Gemini's key", "GEMINI_API_KEY=k", "*gemini.provider gemini-3.8-flash gemini", ""},
		{"a name beside two keys", "OPENAI_API_KEY=k GEMINI_API_KEY=k REVEILLE_MODEL=gemini/gemini-3.1-pro-preview", "*gemini.provider gemini-3.1-pro-preview gemini", ""},
		{"OpenAI's other API", "OPENAI_API_KEY=k REVEILLE_MODEL=openai-responses/gpt-5", "*openai.responsesProvider gpt-5 openai-responses", ""},
		{"a vendor's name at OpenRouter", "OPENROUTER_API_KEY=k REVEILLE_MODEL=openrouter/anthropic/claude-sonnet-4.5", "*openai.chatProvider anthropic/claude-sonnet-4.5 openrouter", ""},
		{"a server on this machine", "REVEILLE_MODEL=ollama/qwen3:8b", "*openai.chatProvider qwen3:8b ollama", ""},
		{"one at its address", "VLLM_BASE_URL=http://127.0.0.1:9/v1 REVEILLE_MODEL=vllm/qwen/qwen3-8b", "*openai.chatProvider qwen/qwen3-8b vllm", ""},
		{"a server in the own network", "REVEILLE_MODEL=vllm/m REVEILLE_MODEL_BASE_URL=http://10.0.0.5:8000/v1", "", "model vllm/m at the address in REVEILLE_MODEL_BASE_URL: openai: base URL: outgoing request refused: the scheme of host 10.0.0.5 is http, allowed is https: for a host in your own network, list 10.0.0.5 in REVEILLE_EGRESS_ALLOW"},
		{"a server in the own network, by its variable", "VLLM_BASE_URL=https://10.0.0.5:8000/v1 REVEILLE_MODEL=vllm/m", "", "model vllm/m at the address in VLLM_BASE_URL: openai: base URL: outgoing request refused: host 10.0.0.5 is not public: to allow it, list it in REVEILLE_EGRESS_ALLOW"},
		{"a provider at another address needs no key", "ANTHROPIC_BASE_URL=http://127.0.0.1:9 REVEILLE_MODEL=anthropic/m", "*anthropic.provider m anthropic", ""},
		{"a secret", "REVEILLE_MODEL=mistral/m REVEILLE_MODEL_KEY_SECRET=prod/key", "*openai.chatProvider m mistral", ""},
		{"an address of the bound one", "REVEILLE_MODEL=openai/m REVEILLE_MODEL_BASE_URL=https://models.example/v1", "*openai.chatProvider m openai-compatible", ""},
		{"the same address twice", "REVEILLE_MODEL=groq/m REVEILLE_MODEL_BASE_URL=https://g/v1 GROQ_BASE_URL=https://g/v1", "*openai.chatProvider m groq", ""},

		{"Vertex's key", "GOOGLE_VERTEX_API_KEY=k REVEILLE_MODEL=vertex/gemini-3-flash", "*gemini.provider gemini-3-flash vertex", ""},
		{"Vertex without a key", "REVEILLE_MODEL=vertex/m", "", "model vertex/m: this program is built without Google's credentials: set GOOGLE_VERTEX_API_KEY to an API key, or start the local host with `make run MODEL=vertex/NAME`, or build a program with -tags vertex"},
		{"Azure", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com AZURE_OPENAI_API_KEY=k REVEILLE_MODEL=azure/gpt-5", "*openai.chatProvider gpt-5 azure", ""},
		{"Azure's other API", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com AZURE_OPENAI_API_KEY=k REVEILLE_MODEL=azure-responses/gpt-5", "*openai.responsesProvider gpt-5 azure-responses", ""},
		{"Azure with a secret", "REVEILLE_MODEL=azure/m REVEILLE_MODEL_KEY_SECRET=prod/key REVEILLE_MODEL_BASE_URL=https://r.openai.azure.com", "*openai.chatProvider m azure", ""},
		{"Azure without an endpoint", "AZURE_OPENAI_API_KEY=k REVEILLE_MODEL=azure/m", "", variable + "AZURE_OPENAI_ENDPOINT is not set: REVEILLE_MODEL names a model of azure, which needs the endpoint of your resource"},
		{"Azure without a key", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com REVEILLE_MODEL=azure-responses/m", "", variable + "AZURE_OPENAI_API_KEY is not set: REVEILLE_MODEL names a model of azure-responses, which needs this key"},
		{"Azure without a model", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com AZURE_OPENAI_API_KEY=k", "", variable + "REVEILLE_MODEL is not set, and the provider has no default model (set: AZURE_OPENAI_API_KEY): set it to azure/NAME"},

		{"two keys", "OPENAI_API_KEY=k ANTHROPIC_API_KEY=k", "", variable + "REVEILLE_MODEL is not set, and several providers are configured (set: OPENAI_API_KEY, ANTHROPIC_API_KEY): set it to PROVIDER/NAME such as openai/gpt-6-luna"},
		{"a key and an address", "OPENAI_API_KEY=k GROQ_BASE_URL=https://g/v1", "", variable + "REVEILLE_MODEL is not set, and several providers are configured (set: OPENAI_API_KEY, GROQ_BASE_URL): set it to PROVIDER/NAME such as openai/gpt-6-luna"},
		{"two keys and a bare name", "OPENAI_API_KEY=k GROQ_API_KEY=k REVEILLE_MODEL=m", "", variable + `REVEILLE_MODEL is "m", want PROVIDER/NAME (set: OPENAI_API_KEY, GROQ_API_KEY); providers are ` + all},
		{"a bare name without a key", "REVEILLE_MODEL=gpt-5", "", variable + `REVEILLE_MODEL is "gpt-5", want PROVIDER/NAME; no provider's key is set; providers are ` + all},
		{"an unknown provider", "REVEILLE_MODEL=nobody/m", "", variable + `REVEILLE_MODEL is "nobody/m", want PROVIDER/NAME; no provider's key is set; providers are ` + all},
		{"a provider without a model", "REVEILLE_MODEL=gemini GEMINI_API_KEY=k", "", variable + `REVEILLE_MODEL is "gemini", which names no model, want gemini/NAME such as gemini/gemini-3.8-flash`},
		{"a provider and nothing", "REVEILLE_MODEL=ollama/", "", variable + `REVEILLE_MODEL is "ollama/", which names no model, want ollama/NAME`},
		{"a server on this machine without a model", "OLLAMA_BASE_URL=http://127.0.0.1:1/v1", "", variable + "REVEILLE_MODEL is not set, and the provider has no default model (set: OLLAMA_BASE_URL): set it to ollama/NAME"},
		{"no key", "REVEILLE_MODEL=groq/openai/gpt-oss-20b", "", variable + "GROQ_API_KEY is not set: REVEILLE_MODEL names a model of groq, which needs this key"},
		{"a key under a near name", "REVEILLE_MODEL=openai/m OPEN_AI_KEY=k", "", variable + "OPENAI_API_KEY is not set: REVEILLE_MODEL names a model of openai, which needs this key (found OPEN_AI_KEY: did you mean this key?)"},
		{"keys under near names", "REVEILLE_MODEL=openai/m OPENAI_KEY=k OPEN_AI_KEY=k OPENAI_TOKEN=k GROK_KEY=k", "", variable + "OPENAI_API_KEY is not set: REVEILLE_MODEL names a model of openai, which needs this key (found OPENAI_KEY, OPENAI_TOKEN, OPEN_AI_KEY: did you mean this key?)"},
		{"another's key", "REVEILLE_MODEL=openai/gpt-oss-20b GROQ_API_KEY=k", "", variable + "OPENAI_API_KEY is not set: REVEILLE_MODEL names a model of openai, which needs this key (set: GROQ_API_KEY)"},
		{"a secret of nobody", "REVEILLE_MODEL_KEY_SECRET=prod/key", "", "environment variables REVEILLE_MODEL_KEY_SECRET and REVEILLE_MODEL_BASE_URL require REVEILLE_MODEL, which is not set, want PROVIDER/NAME; providers are " + all},
		{"an address of nobody", "REVEILLE_MODEL_BASE_URL=https://m/v1", "", "environment variables REVEILLE_MODEL_KEY_SECRET and REVEILLE_MODEL_BASE_URL require REVEILLE_MODEL, which is not set, want PROVIDER/NAME; providers are " + all},
		{"a secret that cannot be opened", "REVEILLE_MODEL=openai/m REVEILLE_MODEL_KEY_SECRET=other", "", "REVEILLE_MODEL_KEY_SECRET: no secret other"},
		{"a key and a secret", "REVEILLE_MODEL=openai/m REVEILLE_MODEL_KEY_SECRET=prod/key OPENAI_API_KEY=k", "", "environment variables REVEILLE_MODEL_KEY_SECRET and OPENAI_API_KEY are two keys of openai, set only one of them"},
		{"two addresses", "REVEILLE_MODEL=openai/m REVEILLE_MODEL_BASE_URL=https://m/v1 OPENAI_BASE_URL=https://n/v1", "", "environment variables REVEILLE_MODEL_BASE_URL and OPENAI_BASE_URL are different addresses of openai, set only one of them"},
		{"an address of what has none", "REVEILLE_MODEL=scripted REVEILLE_MODEL_BASE_URL=https://m/v1", "", "environment variables REVEILLE_MODEL_KEY_SECRET and REVEILLE_MODEL_BASE_URL do not apply to scripted, which has no key and no address: unset them"},
		{"a key that no header carries", "GEMINI_API_KEY=k\x01", "", "model gemini/gemini-3.8-flash: gemini: API key has a space, a line end or another character that a header cannot carry"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := Bind(env.System(), read(t, test.environ))
			var got, failed string
			if err != nil {
				failed = err.Error()
			} else {
				got = fmt.Sprintf("%T %s %s", b.Model, b.Name, b.Provider)
			}
			if diff := cmp.Diff([]string{test.model, test.failed}, []string{got, failed}); diff != "" {
				t.Errorf("model and error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachProviderThatCanBeNamedIsMade(t *testing.T) {
	for _, p := range settings.Providers() {
		if p.ID == "bedrock" {
			continue
		}
		environ := "REVEILLE_MODEL=" + p.ID + "/m"
		if p.KeyVariable != "" {
			environ += " " + p.KeyVariable + "=k"
		}
		if p.Resource {
			environ += " " + p.URLVariable + "=https://r.example"
		}
		b, err := Bind(env.System(), read(t, environ))
		if err != nil || b.Model == nil || b.Name != "m" || b.Provider != p.ID {
			t.Errorf("%s: %+v, %v", p.ID, b, err)
		}
	}
}

package settings

import (
	"slices"

	"github.com/reveille-run/reveille/core/secret"
)

// Provider is a provider of models as the environment has it, by the names of variables
// that its own programs read.
type Provider struct {
	ID    string // what REVEILLE_MODEL calls it
	Model string // the one that is bound where none is named; empty: one has to be
	// KeyVariable and URLVariable name the variables of its key and its address; empty:
	// there is none.
	KeyVariable, URLVariable string
	// Own says that it is a server on a machine of one's own, which needs no key.
	Own bool

	Key     secret.String
	BaseURL string
}

// Said reports whether the environment says anything of the provider.
func (p Provider) Said() bool { return !p.Key.IsZero() || p.BaseURL != "" }

// Providers are all providers that can be named, without what the environment says.
func Providers() []Provider {
	return []Provider{
		{ID: "openai", Model: "gpt-5-mini", KeyVariable: "OPENAI_API_KEY", URLVariable: "OPENAI_BASE_URL"},
		{ID: "openai-responses", KeyVariable: "OPENAI_API_KEY", URLVariable: "OPENAI_BASE_URL"}, // the same by its other API
		{ID: "anthropic", Model: "claude-haiku-4-5", KeyVariable: "ANTHROPIC_API_KEY", URLVariable: "ANTHROPIC_BASE_URL"},
		{ID: "gemini", Model: "gemini-2.5-flash", KeyVariable: "GEMINI_API_KEY", URLVariable: "GEMINI_BASE_URL"},
		{ID: "bedrock", Own: true}, // who asks is AWS's to say
		{ID: "groq", Model: "openai/gpt-oss-20b", KeyVariable: "GROQ_API_KEY", URLVariable: "GROQ_BASE_URL"},
		{ID: "openrouter", Model: "openai/gpt-5-mini", KeyVariable: "OPENROUTER_API_KEY", URLVariable: "OPENROUTER_BASE_URL"},
		{ID: "deepseek", Model: "deepseek-chat", KeyVariable: "DEEPSEEK_API_KEY", URLVariable: "DEEPSEEK_BASE_URL"},
		{ID: "zai", Model: "glm-4.6", KeyVariable: "ZAI_API_KEY", URLVariable: "ZAI_BASE_URL"},
		{ID: "xai", Model: "grok-4-fast", KeyVariable: "XAI_API_KEY", URLVariable: "XAI_BASE_URL"},
		{ID: "mistral", Model: "mistral-small-latest", KeyVariable: "MISTRAL_API_KEY", URLVariable: "MISTRAL_BASE_URL"},
		{ID: "llamacpp", KeyVariable: "LLAMACPP_API_KEY", URLVariable: "LLAMACPP_BASE_URL", Own: true},
		{ID: "ollama", KeyVariable: "OLLAMA_API_KEY", URLVariable: "OLLAMA_BASE_URL", Own: true},
		{ID: "vllm", KeyVariable: "VLLM_API_KEY", URLVariable: "VLLM_BASE_URL", Own: true},
		{ID: "scripted", Model: "scripted", Own: true},
	}
}

// Provider returns a provider with what the environment says of it; ok is false where no
// provider has the id.
func (s Settings) Provider(id string) (p Provider, ok bool) {
	all := Providers()
	i := slices.IndexFunc(all, func(p Provider) bool { return p.ID == id })
	if i < 0 {
		return Provider{}, false
	}
	p = all[i]
	for _, said := range s.Providers {
		if said.KeyVariable == p.KeyVariable {
			p.Key, p.BaseURL = said.Key, said.BaseURL
		}
	}
	return p, true
}

// providerVariables are the keys and addresses.
func providerVariables() []variable {
	var all []variable
	for _, p := range Providers() {
		if p.KeyVariable == "" || slices.ContainsFunc(all, func(v variable) bool { return v.name == p.KeyVariable }) {
			continue
		}
		of := func(s *Settings) *Provider {
			if n := len(s.Providers); n > 0 && s.Providers[n-1].ID == p.ID {
				return &s.Providers[n-1]
			}
			s.Providers = append(s.Providers, p)
			return &s.Providers[len(s.Providers)-1]
		}
		all = append(all,
			variable{p.KeyVariable, "", "a key", func(s *Settings, v string) error {
				if v != "" {
					of(s).Key = secret.New(v)
				}
				return nil
			}},
			variable{p.URLVariable, "", addressAllowed, func(s *Settings, v string) error {
				var read string
				if err := address(func(*Settings) *string { return &read })(s, v); err != nil || read == "" {
					return err
				}
				of(s).BaseURL = read
				return nil
			}})
	}
	return all
}

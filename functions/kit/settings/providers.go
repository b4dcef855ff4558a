package settings

import (
	"slices"

	"github.com/reveille-run/reveille/core/secret"
)

// Provider is a provider of models, with its key and address from the environment. The
// names of the variables are those that the provider's own programs read.
type Provider struct {
	ID    string // its name in REVEILLE_MODEL
	Model string // its default model; empty: REVEILLE_MODEL has to name one
	// KeyVariable and URLVariable are the names of the variables of its key and its
	// address; empty: it has no such variable.
	KeyVariable, URLVariable string
	// Own reports whether it needs no key, as a server on your own machine.
	Own bool
	// Resource reports whether it has no default address: each customer has one.
	Resource bool

	Key     secret.String
	BaseURL string
}

// Said reports whether the environment has a key or an address of the provider.
func (p Provider) Said() bool { return !p.Key.IsZero() || p.BaseURL != "" }

// Providers returns all providers, without keys and addresses.
func Providers() []Provider {
	return []Provider{
		{ID: "openai", Model: "gpt-6-luna", KeyVariable: "OPENAI_API_KEY", URLVariable: "OPENAI_BASE_URL"},
		{ID: "openai-responses", KeyVariable: "OPENAI_API_KEY", URLVariable: "OPENAI_BASE_URL"}, // the other API of openai
		{ID: "anthropic", Model: "claude-haiku-5-5", KeyVariable: "ANTHROPIC_API_KEY", URLVariable: "ANTHROPIC_BASE_URL"},
		{ID: "gemini", Model: "gemini-3.8-flash", KeyVariable: "GEMINI_API_KEY", URLVariable: "GEMINI_BASE_URL"},
		{ID: "vertex", KeyVariable: "GOOGLE_VERTEX_API_KEY", URLVariable: "GOOGLE_VERTEX_BASE_URL", Own: true}, // Google's credentials do, too
		{ID: "bedrock", Own: true}, // it uses AWS credentials
		{ID: "azure", KeyVariable: "AZURE_OPENAI_API_KEY", URLVariable: "AZURE_OPENAI_ENDPOINT", Resource: true},
		{ID: "azure-responses", KeyVariable: "AZURE_OPENAI_API_KEY", URLVariable: "AZURE_OPENAI_ENDPOINT", Resource: true}, // the other API of azure
		{ID: "groq", Model: "openai/gpt-oss-20b", KeyVariable: "GROQ_API_KEY", URLVariable: "GROQ_BASE_URL"},
		{ID: "openrouter", Model: "openai/gpt-6-luna", KeyVariable: "OPENROUTER_API_KEY", URLVariable: "OPENROUTER_BASE_URL"},
		{ID: "deepseek", Model: "deepseek-v4-flash", KeyVariable: "DEEPSEEK_API_KEY", URLVariable: "DEEPSEEK_BASE_URL"},
		{ID: "zai", Model: "glm-5.3-flash", KeyVariable: "ZAI_API_KEY", URLVariable: "ZAI_BASE_URL"},
		{ID: "xai", Model: "grok-4.3", KeyVariable: "XAI_API_KEY", URLVariable: "XAI_BASE_URL"},
		{ID: "mistral", Model: "mistral-small-latest", KeyVariable: "MISTRAL_API_KEY", URLVariable: "MISTRAL_BASE_URL"},
		{ID: "llamacpp", KeyVariable: "LLAMACPP_API_KEY", URLVariable: "LLAMACPP_BASE_URL", Own: true},
		{ID: "ollama", KeyVariable: "OLLAMA_API_KEY", URLVariable: "OLLAMA_BASE_URL", Own: true},
		{ID: "vllm", KeyVariable: "VLLM_API_KEY", URLVariable: "VLLM_BASE_URL", Own: true},
		{ID: "scripted", Model: "scripted", Own: true},
	}
}

// Provider returns a provider with its key and address from the environment; ok is false
// if no provider has the id.
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

// providerVariables are the keys and addresses of providers. Two providers can share them.
func providerVariables() []variable {
	providers := Providers()
	all := make([]variable, 0, 2*len(providers))
	for _, p := range providers {
		if p.KeyVariable == "" || slices.ContainsFunc(all, func(v variable) bool { return v.Name == p.KeyVariable }) {
			continue
		}
		of := func(s *Settings) *Provider {
			if n := len(s.Providers); n > 0 && s.Providers[n-1].ID == p.ID {
				return &s.Providers[n-1]
			}
			s.Providers = append(s.Providers, p)
			return &s.Providers[len(s.Providers)-1]
		}
		key := Variable{Name: p.KeyVariable, Allowed: "a key", Meaning: "The key of provider `" + p.ID + "`."}
		switch {
		case p.ID == "vertex":
			key.Meaning = "The key of provider `vertex`. Without a key, requests use Google's application default credentials."
		case p.Own:
			key.Meaning = "The key for your `" + p.ID + "` server, if that server needs one."
		}
		base := Variable{Name: p.URLVariable, Allowed: addressAllowed, Unset: "the provider's own address", Meaning: "The address of provider `" + p.ID + "`."}
		switch {
		case p.ID == "vertex": // as usual
		case p.Resource:
			base.Unset, base.Meaning = "none: the provider requires it", "The endpoint of your resource at provider `"+p.ID+"`, such as `https://NAME.openai.azure.com`."
		case p.Own:
			base.Unset, base.Meaning = "the server's usual port on this machine", "The address of your `"+p.ID+"` server."
		}
		all = append(all,
			variable{key, func(s *Settings, v string) error {
				if v != "" {
					of(s).Key = secret.New(v)
				}
				return nil
			}},
			variable{base, func(s *Settings, v string) error {
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

package openai

import (
	"cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapter makes the client of a provider that is data, over Chat Completions: a value of
// agent.Parts.Adapters. The provider's options are "dialect" and "organization"; a server
// of another dialect than OpenAI's needs its base_url.
func Adapter(p agent.ProviderSpec) (model.Model, error) { return dialectAuto.Adapter(p) }

// responses is the adapter of a dialect of the Responses API.
func (d Dialect) responses(p agent.ProviderSpec) (model.Model, error) {
	var own struct {
		Organization     string `json:"organization"`
		ReasoningSummary string `json:"reasoning_summary"`
	}
	if err := wire.DecodeOptions(p.Options, &own); err != nil {
		return nil, err
	}
	return New(Options{
		APIKey: p.APIKey.Reveal(), Key: p.Key, BaseURL: p.BaseURL, Dialect: d,
		Organization: own.Organization, ReasoningSummary: own.ReasoningSummary,
	})
}

// Adapter is [Adapter] for providers that use this dialect unless their options name
// another:
//
//	parts.Adapters["groq"] = openai.DialectGroq.Adapter
//
// The adapters of [DialectResponses] and [DialectAzureResponses] use the Responses API.
// Their providers' options are "organization" and "reasoning_summary".
func (d Dialect) Adapter(p agent.ProviderSpec) (model.Model, error) {
	if d == DialectResponses || d == DialectAzureResponses {
		return d.responses(p)
	}
	var own struct {
		Dialect      Dialect `json:"dialect"`
		Organization string  `json:"organization"`
	}
	if err := wire.DecodeOptions(p.Options, &own); err != nil {
		return nil, err
	}
	// The maker of the models follows from the adapter's name and the address.
	if other := own.Dialect != "" && own.Dialect != cmp.Or(d, DialectOpenAI); other && p.BaseURL == "" && own.Dialect.check() == nil {
		return nil, core.Errorf(core.CodeInvalid, "openai: options.dialect is %q, which differs from the adapter's, want a base_url, too", own.Dialect)
	}
	return wire.Made(openChat(Options{
		APIKey: p.APIKey.Reveal(), Key: p.Key, BaseURL: p.BaseURL,
		Dialect: cmp.Or(own.Dialect, d), Organization: own.Organization,
	}))
}

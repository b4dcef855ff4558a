package gemini

import (
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapter makes the client of a provider that is data: a value of agent.Parts.Adapters.
// The provider has no options.
func Adapter(p agent.ProviderSpec) (model.Model, error) {
	if err := wire.DecodeOptions(p.Options, &struct{}{}); err != nil {
		return nil, err
	}
	return New(Options{APIKey: p.APIKey.Reveal(), Key: p.Key, BaseURL: p.BaseURL})
}

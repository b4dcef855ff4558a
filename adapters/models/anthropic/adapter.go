package anthropic

import (
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapter makes the client of a provider that is data: a value of agent.Parts.Adapters.
// The provider's options are "version" and "betas", as in [Options].
func Adapter(p agent.ProviderSpec) (model.Model, error) {
	var own struct {
		Version string   `json:"version"`
		Betas   []string `json:"betas"`
	}
	if err := wire.DecodeOptions(p.Options, &own); err != nil {
		return nil, err
	}
	return New(Options{APIKey: p.APIKey.Reveal(), Key: p.Key, BaseURL: p.BaseURL, Version: own.Version, Betas: own.Betas})
}

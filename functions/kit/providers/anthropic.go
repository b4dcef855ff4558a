package providers

import (
	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/core/model"
)

// claude is Anthropic's Messages API.
func claude(c connection) (model.Model, error) {
	var own struct {
		Version string   `json:"version"`
		Betas   []string `json:"betas"`
	}
	if err := c.decode(&own); err != nil {
		return nil, err
	}
	return made(anthropic.New(anthropic.Options{APIKey: c.key.Reveal(), Key: c.source, BaseURL: c.baseURL, Version: own.Version, Betas: own.Betas}))
}

// Package wire binds the demo agent's model to the provider that OPENAI_BASE_URL
// names, for functions whose model is spoken to over HTTP, as a deployed one's is.
package wire

import (
	"fmt"

	"github.com/reveille-run/reveille/adapters/openai"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/demo"
	"github.com/reveille-run/reveille/functions/settings"
)

// Bind returns the provider under the demo agent's id of its model.
func Bind(_ *env.Env, s settings.Settings) (map[string]agent.ModelBinding, error) {
	provider, err := openai.New(openai.Options{BaseURL: s.OpenAIBaseURL})
	if err != nil {
		return nil, fmt.Errorf("provider at OPENAI_BASE_URL: %w", err)
	}
	return map[string]agent.ModelBinding{demo.Model: {Model: provider, Name: s.Model}}, nil
}

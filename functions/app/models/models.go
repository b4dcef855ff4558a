// Package models binds the model ids that agent specs use to providers. Only
// the functions that run steps link it.
package models

import (
	"fmt"

	"github.com/reveille-run/reveille/adapters/openai"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/app"
	"github.com/reveille-run/reveille/functions/settings"
)

// Keys is what the environment says about providers.
type Keys struct {
	OpenAIKey     string // OPENAI_API_KEY; empty: the scripted model
	OpenAIBaseURL string // OPENAI_BASE_URL; empty: the provider's own
	Model         string // REVEILLE_MODEL: the provider's name of the model
}

// KeysOf takes the keys out of a process's settings.
func KeysOf(s settings.Settings) Keys {
	return Keys{OpenAIKey: s.OpenAIKey, OpenAIBaseURL: s.OpenAIBaseURL, Model: s.Model}
}

// Bind returns the models by id: a provider's if its key is set, else the
// scripted model.
func Bind(e *env.Env, k Keys) (map[string]agent.ModelBinding, error) {
	binding := agent.ModelBinding{Model: scripted.New(e), Name: "scripted"}
	if k.OpenAIKey != "" {
		provider, err := openai.New(openai.Options{APIKey: k.OpenAIKey, BaseURL: k.OpenAIBaseURL})
		if err != nil {
			return nil, fmt.Errorf("model provider openai: %w", err)
		}
		binding = agent.ModelBinding{Model: provider, Name: k.Model}
	}
	return map[string]agent.ModelBinding{app.DemoModel: binding}, nil
}

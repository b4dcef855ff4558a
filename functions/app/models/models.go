// Package models is the place to edit for models: it binds the ids that agent
// specs use to providers. Only the functions that run steps link it.
package models

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/openai"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/providers"
	"github.com/reveille-run/reveille/functions/settings"
)

// Default is the id of the one model that [Bind] binds. Add others beside it.
const Default = "default"

// Bind returns the models by the id that specs use: an OpenAI-compatible provider
// where the environment says so, by OPENAI_API_KEY or OPENAI_API_KEY_SECRET,
// OPENAI_BASE_URL (a local server needs no key) or both, else the scripted model.
func Bind(e *env.Env, s settings.Settings) (map[string]agent.ModelBinding, error) {
	binding := agent.ModelBinding{Model: scripted.New(e), Name: "scripted", Provider: "scripted"}
	if s.OpenAIKey != "" || s.OpenAIKeySecret != "" || s.OpenAIBaseURL != "" {
		options := openai.Options{APIKey: s.OpenAIKey, BaseURL: s.OpenAIBaseURL}
		if s.OpenAIKeySecret != "" {
			key, err := s.OpenSecret(s.OpenAIKeySecret)
			if err != nil {
				return nil, fmt.Errorf("OPENAI_API_KEY_SECRET: %w", err)
			}
			options.Key = key
		}
		provider, err := openai.New(options)
		if err != nil {
			return nil, fmt.Errorf("model provider of OPENAI_API_KEY and OPENAI_BASE_URL: %w", err)
		}
		binding = agent.ModelBinding{Model: provider, Name: s.Model, Provider: "openai"}
		if s.OpenAIBaseURL != "" {
			binding.Provider = "openai-compatible"
		}
	}
	if name, ok := strings.CutPrefix(s.Model, "bedrock/"); ok {
		provider, err := providers.Bedrock()
		if err != nil {
			return nil, fmt.Errorf("REVEILLE_MODEL=%s: %w", s.Model, err)
		}
		binding = agent.ModelBinding{Model: provider, Name: name, Provider: "bedrock"}
	}
	return map[string]agent.ModelBinding{Default: binding}, nil
}

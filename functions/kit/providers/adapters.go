package providers

import (
	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapters are those of all providers, for agent.Parts: the adapter of an
// [agent.ProviderSpec] is the id of a provider that REVEILLE_MODEL may name. What options
// a provider has, its package says.
func Adapters() map[string]func(agent.ProviderSpec) (model.Model, error) {
	all := map[string]func(agent.ProviderSpec) (model.Model, error){
		"anthropic": anthropic.Adapter, "bedrock": amazon, "gemini": gemini.Adapter,
		"openai": openai.Adapter, "openai-responses": openai.DialectResponses.Adapter,
	}
	for _, d := range []openai.Dialect{
		openai.DialectDeepSeek, openai.DialectGroq, openai.DialectLlamaCpp, openai.DialectMistral, openai.DialectOllama,
		openai.DialectOpenRouter, openai.DialectVLLM, openai.DialectXAI, openai.DialectZAI,
	} {
		all[string(d)] = d.Adapter
	}
	return all
}

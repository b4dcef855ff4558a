package providers

import (
	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapters returns the adapters of all providers, for agent.Parts. The adapter of an
// [agent.ProviderSpec] is the id of a provider, as in REVEILLE_MODEL. The package of each
// provider documents its options.
func Adapters() map[string]func(agent.ProviderSpec) (model.Model, error) {
	all := map[string]func(agent.ProviderSpec) (model.Model, error){
		"anthropic": anthropic.Adapter, "bedrock": amazon, "gemini": gemini.Adapter, "vertex": google,
		"openai": openai.Adapter, "openai-responses": openai.DialectResponses.Adapter, "azure-responses": openai.DialectAzureResponses.Adapter,
	}
	for _, d := range []openai.Dialect{
		openai.DialectAzure, openai.DialectDeepSeek, openai.DialectGroq, openai.DialectLlamaCpp, openai.DialectMistral, openai.DialectOllama,
		openai.DialectOpenRouter, openai.DialectVLLM, openai.DialectXAI, openai.DialectZAI,
	} {
		all[string(d)] = d.Adapter
	}
	return all
}

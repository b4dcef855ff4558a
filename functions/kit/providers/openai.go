package providers

import (
	"cmp"

	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

// kin is a server that speaks OpenAI's Chat Completions.
type kin struct {
	dialect openai.Dialect
	baseURL string // where it listens by itself
}

// kins are the servers, by the id of the provider.
var kins = map[string]kin{
	"groq":       {openai.DialectGroq, "https://api.groq.com/openai/v1"},
	"openrouter": {openai.DialectOpenRouter, "https://openrouter.ai/api/v1"},
	"deepseek":   {openai.DialectDeepSeek, "https://api.deepseek.com"},
	"zai":        {openai.DialectZAI, "https://api.z.ai/api/paas/v4"},
	"xai":        {openai.DialectXAI, "https://api.x.ai/v1"},
	"mistral":    {openai.DialectMistral, "https://api.mistral.ai/v1"},
	"llamacpp":   {openai.DialectLlamaCpp, "http://127.0.0.1:8080/v1"},
	"ollama":     {openai.DialectOllama, "http://127.0.0.1:11434/v1"},
	"vllm":       {openai.DialectVLLM, "http://127.0.0.1:8000/v1"},
}

// chat is OpenAI's Chat Completions, of OpenAI and of its kin.
func chat(c connection) (model.Model, error) {
	options, err := c.openAI()
	if err != nil {
		return nil, err
	}
	if kin, ok := kins[c.id]; ok {
		options.Dialect = cmp.Or(options.Dialect, kin.dialect)
		options.BaseURL = cmp.Or(options.BaseURL, kin.baseURL)
	}
	return made(openai.New(options))
}

// responses is OpenAI's Responses API.
func responses(c connection) (model.Model, error) {
	options, err := c.openAI()
	if err != nil {
		return nil, err
	}
	return made(openai.NewResponses(options))
}

// openAI are the options of both. A provider that is data may have some of its own.
func (c connection) openAI() (openai.Options, error) {
	var own struct {
		Dialect          openai.Dialect `json:"dialect"`
		Organization     string         `json:"organization"`
		ReasoningSummary string         `json:"reasoning_summary"`
	}
	err := c.decode(&own)
	return openai.Options{
		APIKey: c.key.Reveal(), Key: c.source, BaseURL: c.baseURL,
		Dialect: own.Dialect, Organization: own.Organization, ReasoningSummary: own.ReasoningSummary,
	}, err
}

// decode reads the options of a provider that is data.
func (c connection) decode(into any) error {
	if len(c.options) == 0 {
		return nil
	}
	return strict.Options{Name: "options"}.Decode(c.options, into)
}

// made returns no model of a type where there is an error.
func made[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

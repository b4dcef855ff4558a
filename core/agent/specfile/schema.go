package specfile

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core/agent/internal/spectext"
)

// Schema returns the JSON Schema of one document of a file: an agent, or the lists.
// Editors check files by it while they are written.
func Schema() (json.RawMessage, error) {
	definitions := map[string]*jsonschema.Schema{}
	for name, schema := range map[string]func() (json.RawMessage, error){
		"agent": spectext.SpecSchema, "model": spectext.ModelSchema, "pool": spectext.PoolSchema, "provider": spectext.ProviderSchema,
	} {
		text, err := schema()
		if err != nil {
			return nil, err
		}
		definitions[name] = &jsonschema.Schema{}
		if err := json.Unmarshal(text, definitions[name]); err != nil {
			return nil, err
		}
		definitions[name].Schema = ""
	}
	delete(definitions["provider"].Properties, "api_key") // which no file holds
	list := func(name string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/" + name}}
	}
	return json.Marshal(&jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Agents, models, pools and providers", Defs: definitions,
		Type: "object", If: &jsonschema.Schema{Required: []string{"id"}}, Then: &jsonschema.Schema{Ref: "#/$defs/agent"},
		Else: &jsonschema.Schema{
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
			PropertyOrder:        []string{"default", "agents", "models", "pools", "providers"},
			Properties: map[string]*jsonschema.Schema{
				"default": {Type: "string", Description: "Id of the agent of requests that name none; without it the only agent."},
				"agents":  list("agent"), "models": list("model"), "pools": list("pool"), "providers": list("provider"),
			},
		},
	})
}

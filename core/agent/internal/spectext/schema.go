package spectext

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// SpecSchema returns the JSON Schema of an [agent.Spec]: for forms, for editors, and for
// checking a spec before it is sent. A spec that it allows may still be refused by
// [agent.Spec.Check], which looks at fields together, or by a registry. It omits the null
// that decoding takes for an absent field.
func SpecSchema() (json.RawMessage, error) { return encodeSchema(specSchema()) }

// ModelSchema returns the JSON Schema of a [agent.ModelSpec].
func ModelSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[agent.ModelSpec]("Model", modelFacts()))
}

// PoolSchema returns the JSON Schema of a [agent.ModelPoolSpec].
func PoolSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[agent.ModelPoolSpec]("Pool of models", poolFacts()))
}

// ProviderSchema returns the JSON Schema of a [agent.ProviderSpec].
func ProviderSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[agent.ProviderSpec]("Provider", providerFacts()))
}

// fact is what a type does not say of a field.
type fact struct {
	about       string
	least, most *float64
	preset      string // JSON of what counts where the field is absent
	name        bool   // an id, see core.CheckName
	object      bool   // JSON that is not interpreted, but an object
}

func specSchema() (*jsonschema.Schema, error) {
	schema, err := schemaOf[agent.Spec]("Agent", specFacts())
	if err == nil {
		kinds := oneOf[string](agent.StopMaxRounds, agent.StopTimeout, agent.StopTokenBudget, agent.StopConsecutiveErrors, agent.StopOnTool, agent.StopContentMatch, agent.StopLoopDetection)
		modes := oneOf("keep_recent_raw_suffix", "compact_to_safe_frontier")
		schema.Properties["context"].Properties["compaction_mode"].Enum = modes.Enum
		schema.Properties["stop"].Items.Properties["type"].Enum = kinds.Enum
		schema.Properties["provider_options"].AdditionalProperties = &jsonschema.Schema{Type: "object"}
	}
	return schema, err
}

// schemaOf infers the schema of a type and adds the facts of its fields, by path. A
// fact of no field is an error, and so is a field without one.
func schemaOf[S any](title string, facts map[string]fact) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[S](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():     {},
		reflect.TypeFor[secret.String]():       {Type: "string", WriteOnly: true},
		reflect.TypeFor[model.Effort]():        effortSchema(),
		reflect.TypeFor[model.ToolMode]():      oneOf(model.ToolAuto, model.ToolNone, model.ToolRequired, model.ToolNamed),
		reflect.TypeFor[agent.ExecutionMode](): oneOf(agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming),
		reflect.TypeFor[agent.EventMode]():     oneOf(agent.EventsLive, agent.EventsCommits),
		reflect.TypeFor[agent.Compaction]():    oneOf("off", "background", agent.CompactInline),
		reflect.TypeFor[agent.MemberRole]():    oneOf("member", agent.RoleFailoverOnly),
		reflect.TypeFor[agent.PoolRouting]():   oneOf("deterministic", agent.RouteFirstHealthy),
		reflect.TypeFor[agent.StickyScope]():   oneOf("thread", agent.StickyRun),
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", title, err)
	}
	if err := describe(schema, "", facts); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", title, err)
	}
	for path := range facts {
		return nil, fmt.Errorf("schema of %s: %s is not a field", title, path)
	}
	schema.Title = title
	return schema, nil
}

// describe adds the facts to the properties of an object, takes them from the map, and
// drops the null that inference adds to what may be nil.
func describe(s *jsonschema.Schema, path string, facts map[string]fact) error {
	for _, name := range s.PropertyOrder {
		at, property := join(path, name), s.Properties[name]
		f, ok := facts[at]
		if !ok {
			return fmt.Errorf("nothing is said of %s", at)
		}
		delete(facts, at)
		withoutNull(property)
		property.Description, property.Minimum, property.Maximum = f.about, f.least, f.most
		if f.preset != "" {
			property.Default = json.RawMessage(f.preset)
		}
		if f.object {
			property.Type = "object"
		}
		if f.name {
			property.Pattern, property.MaxLength = `^[A-Za-z0-9._:-]+$`, new(wire.MaxName)
		}
		inner := property
		if property.Items != nil {
			inner = property.Items
		}
		if err := describe(inner, at, facts); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func withoutNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

func oneOf[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func effortSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		oneOf(model.EffortNone, model.EffortLow, model.EffortMedium, model.EffortHigh, model.EffortMax),
		{
			Type: "object", Required: []string{"budget"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
			Properties: map[string]*jsonschema.Schema{"budget": {
				Type: "integer", Minimum: new(1.0), Maximum: new(1_000_000.0), Description: "Tokens of reasoning, at most.",
			}},
		},
	}}
}

func encodeSchema(schema *jsonschema.Schema, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	return json.Marshal(schema)
}

package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// SpecSchema returns the JSON Schema of a [Spec]: for forms, for editors, and for
// checking a spec before it is sent. What it allows may still be refused by
// [Spec.Check], which looks at fields together, or by a registry; it leaves out the
// null that decoding takes for an absent field.
func SpecSchema() (json.RawMessage, error) { return encodeSchema(specSchema()) }

// PatchSchema returns the JSON Schema of a [Patch]: every field of a spec but the id,
// or null.
func PatchSchema() (json.RawMessage, error) {
	schema, err := specSchema()
	if err != nil {
		return nil, err
	}
	schema.Title, schema.Required = "Changes of an agent", nil
	delete(schema.Properties, "id")
	for name, property := range schema.Properties {
		property.Default = nil // what is absent is the base's
		if name != "model" {
			schema.Properties[name] = orNull(property)
		}
	}
	schema.Properties["sections"].AnyOf[0].Description = "Settings of plugins, by the name of the section: merged by name, and null removes one."
	options := schema.Properties["provider_options"].AnyOf[0]
	options.AdditionalProperties = orNull(options.AdditionalProperties)
	options.Description = "Members of a provider's own request, by the provider's id: merged by it, and null removes a provider's."
	return encodeSchema(schema, nil)
}

// ModelSchema returns the JSON Schema of a [ModelSpec].
func ModelSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[ModelSpec]("Model", modelFacts()))
}

// PoolSchema returns the JSON Schema of a [ModelPoolSpec].
func PoolSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[ModelPoolSpec]("Pool of models", poolFacts()))
}

// ProviderSchema returns the JSON Schema of a [ProviderSpec].
func ProviderSchema() (json.RawMessage, error) {
	return encodeSchema(schemaOf[ProviderSpec]("Provider", providerFacts()))
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
	schema, err := schemaOf[Spec]("Agent", specFacts())
	if err == nil {
		schema.Properties["provider_options"].AdditionalProperties = &jsonschema.Schema{Type: "object"}
	}
	return schema, err
}

// schemaOf infers the schema of a type and adds the facts of its fields, by path. A
// fact of no field is an error, and so is a field without one.
func schemaOf[S any](title string, facts map[string]fact) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[S](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[secret.String]():   {Type: "string", WriteOnly: true},
		reflect.TypeFor[model.Effort]():    effortSchema(),
		reflect.TypeFor[model.ToolMode]():  oneOf(model.ToolAuto, model.ToolNone, model.ToolRequired, model.ToolNamed),
		reflect.TypeFor[ExecutionMode]():   oneOf(Sequential, ParallelBatchApproval, ParallelStreaming),
		reflect.TypeFor[EventMode]():       oneOf(EventsLive, EventsCommits),
		reflect.TypeFor[Compaction]():      oneOf(CompactOff, CompactBackground, CompactInline),
		reflect.TypeFor[CompactionMode]():  oneOf(KeepRecentRawSuffix, CompactToSafeFrontier),
		reflect.TypeFor[MemberRole]():      oneOf(RoleMember, RoleFailoverOnly),
		reflect.TypeFor[PoolRouting]():     oneOf(RouteDeterministic, RouteFirstHealthy),
		reflect.TypeFor[StickyScope]():     oneOf(StickyThread, StickyRun),
		reflect.TypeFor[StopType]():        oneOf(stopTypes()...),
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", title, err)
	}
	if err := describe(schema, "", facts); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", title, err)
	}
	for path := range facts {
		return nil, fmt.Errorf("schema of %s: %s is no field", title, path)
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

func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

func encodeSchema(schema *jsonschema.Schema, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	return json.Marshal(schema)
}

package bedrock

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// The provider options that have members.
type (
	guardrail struct {
		Identifier string `json:"guardrailIdentifier"`
		Version    string `json:"guardrailVersion"`
		Trace      string `json:"trace"`
		Mode       string `json:"streamProcessingMode"`
	}
	performance struct {
		Latency string `json:"latency"`
	}
	tier struct {
		Type string `json:"type"`
	}
)

// The members of a request that can be given, and those that the adapter sets. Any other
// name is a field of the model's own request.
var (
	given    = []string{"guardrailConfig", "performanceConfig", "requestMetadata", "serviceTier"}
	reserved = []string{"additionalModelResponseFieldPaths", "inferenceConfig", "messages", "modelId", "outputConfig", "promptVariables", "system", "toolConfig"}
)

const modelFields = "additionalModelRequestFields"

// apply sets the provider options, and the fields that the reasoning effort needs.
func apply(input *bedrockruntime.ConverseStreamInput, options json.RawMessage, fields map[string]json.RawMessage) error {
	var members map[string]json.RawMessage
	if len(options) > 0 && (!wire.IsObject(options) || json.Unmarshal(options, &members) != nil) {
		return invalid("provider_options are %s, want a JSON object", core.Excerpt(string(options)))
	}
	all := maps.Clone(fields)
	for _, member := range slices.Sorted(maps.Keys(members)) {
		var err error
		switch value := members[member]; {
		case slices.Contains(reserved, member):
			err = invalid("provider_options.%s is set by the adapter, remove it", member)
		case slices.Contains(given, member):
			err = set(input, member, value)
		case member == modelFields:
			all, err = addAll(all, value)
		default:
			all, err = add(all, member, value)
		}
		if err != nil {
			return err
		}
	}
	if len(all) > 0 {
		text, err := wire.Encode(name, all) // sorted by name
		if err != nil {
			return err
		}
		input.AdditionalModelRequestFields = raw(text)
	}
	return nil
}

// addAll puts the members of an object to the fields.
func addAll(fields map[string]json.RawMessage, object json.RawMessage) (map[string]json.RawMessage, error) {
	var more map[string]json.RawMessage
	if !wire.IsObject(object) || json.Unmarshal(object, &more) != nil {
		return nil, invalid("provider_options.%s is %s, want a JSON object", modelFields, core.Excerpt(string(object)))
	}
	var err error
	for _, field := range slices.Sorted(maps.Keys(more)) {
		if fields, err = add(fields, field, more[field]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// add puts a field of the model's own request to those that are there.
func add(fields map[string]json.RawMessage, field string, value json.RawMessage) (map[string]json.RawMessage, error) {
	if _, taken := fields[field]; taken {
		return nil, invalid("provider_options.%s is set twice, by the reasoning effort perhaps", core.Excerpt(field))
	}
	if fields == nil {
		fields = make(map[string]json.RawMessage)
	}
	fields[field] = value
	return fields, nil
}

// set is one of the other options.
func set(input *bedrockruntime.ConverseStreamInput, member string, text json.RawMessage) error {
	decode := strict.Options{Name: "provider_options." + member}.Decode
	var err error
	switch member {
	case "guardrailConfig":
		var g guardrail
		err = decode(text, &g)
		input.GuardrailConfig = &types.GuardrailStreamConfiguration{
			Trace: types.GuardrailTrace(g.Trace), StreamProcessingMode: types.GuardrailStreamProcessingMode(g.Mode),
			GuardrailIdentifier: said(g.Identifier), GuardrailVersion: said(g.Version),
		}
	case "performanceConfig":
		var p performance
		err = decode(text, &p)
		input.PerformanceConfig = &types.PerformanceConfiguration{Latency: types.PerformanceConfigLatency(p.Latency)}
	case "serviceTier":
		var t tier
		if err = decode(text, &t); err == nil && t.Type == "" {
			return invalid("provider_options.serviceTier.type is missing")
		}
		input.ServiceTier = &types.ServiceTier{Type: types.ServiceTierType(t.Type)}
	case "requestMetadata":
		err = decode(text, &input.RequestMetadata)
	}
	if err != nil {
		return invalid("%v", err)
	}
	return nil
}

// said is a text that is there, nil if it is empty.
func said(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}

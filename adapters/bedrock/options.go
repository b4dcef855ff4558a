package bedrock

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/core"
)

// The provider options that have members of their own.
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

// optionNames are the provider options, as the API's reference has them.
var optionNames = []string{"additionalModelRequestFields", "guardrailConfig", "performanceConfig", "requestMetadata", "serviceTier"}

// apply sets the provider options, and the fields that the reasoning effort needs.
func apply(input *bedrockruntime.ConverseStreamInput, options json.RawMessage, fields map[string]json.RawMessage) error {
	var given map[string]json.RawMessage
	if len(bytes.TrimSpace(options)) > 0 {
		if err := json.Unmarshal(options, &given); err != nil {
			return invalid("provider options are no JSON object: %s", core.Excerpt(string(options)))
		}
	}
	all := maps.Clone(fields)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(optionNames, name) {
			return invalid("provider option %q cannot be given, allowed are %s", core.Excerpt(name), strings.Join(optionNames, ", "))
		}
		var err error
		if name == "additionalModelRequestFields" {
			all, err = add(all, given[name])
		} else {
			err = set(input, name, given[name])
		}
		if err != nil {
			return err
		}
	}
	if len(all) > 0 {
		text, err := json.Marshal(all) // sorted by name
		if err != nil {
			return invalid("encode additionalModelRequestFields: %v", err)
		}
		input.AdditionalModelRequestFields = raw(text)
	}
	return nil
}

// add puts the fields of the model's own request to those that are there.
func add(fields map[string]json.RawMessage, text json.RawMessage) (map[string]json.RawMessage, error) {
	var more map[string]json.RawMessage
	if json.Unmarshal(text, &more) != nil {
		return nil, invalid("provider option additionalModelRequestFields is no JSON object")
	}
	if fields == nil {
		fields = make(map[string]json.RawMessage)
	}
	for name, value := range more {
		if _, taken := fields[name]; taken {
			return nil, invalid("provider option additionalModelRequestFields.%s cannot be given beside a reasoning effort, which sets it", core.Excerpt(name))
		}
		fields[name] = value
	}
	return fields, nil
}

// set is one of the other options.
func set(input *bedrockruntime.ConverseStreamInput, name string, text json.RawMessage) error {
	var err error
	switch name {
	case "guardrailConfig":
		var g guardrail
		err = core.DecodeStrict(text, &g)
		input.GuardrailConfig = &types.GuardrailStreamConfiguration{
			Trace: types.GuardrailTrace(g.Trace), StreamProcessingMode: types.GuardrailStreamProcessingMode(g.Mode),
			GuardrailIdentifier: said(g.Identifier), GuardrailVersion: said(g.Version),
		}
	case "performanceConfig":
		var p performance
		err = core.DecodeStrict(text, &p)
		input.PerformanceConfig = &types.PerformanceConfiguration{Latency: types.PerformanceConfigLatency(p.Latency)}
	case "serviceTier":
		var t tier
		if err = core.DecodeStrict(text, &t); err == nil && t.Type == "" {
			return invalid("provider option serviceTier.type is missing")
		}
		input.ServiceTier = &types.ServiceTier{Type: types.ServiceTierType(t.Type)}
	case "requestMetadata":
		err = json.Unmarshal(text, &input.RequestMetadata)
	}
	if err != nil {
		return invalid("provider option %s: %v", name, err)
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

package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The roles of contents.
const (
	roleUser  = "user"
	roleModel = "model"
)

// maxName is the longest name of a function, in bytes, and maxStops how many stop
// sequences a request may have.
const (
	maxName  = 128
	maxStops = 5
)

// encode returns the body of a request. If the API cannot express a part, the error is a
// *model.Error of KindInvalid.
func encode(request model.Request, vertex bool) ([]byte, error) {
	body, err := skeleton(request)
	if err != nil {
		return nil, err
	}
	if body.Contents, err = encodeContents(request); err != nil {
		return nil, err
	}
	if len(body.Contents) == 0 {
		return nil, invalid("the request has no messages")
	}
	if vertex {
		omitIDs(body.Contents)
	}
	return finish(body, request)
}

// omitIDs removes the ids of calls, which Vertex AI does not know: it refuses unknown fields,
// and matches results to calls by their order.
func omitIDs(contents []content) {
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				p.FunctionCall.ID = ""
			}
			if p.FunctionResponse != nil {
				p.FunctionResponse.ID = ""
			}
		}
	}
}

// finish encodes the request with the caller's top-level options.
func finish(body generateRequest, request model.Request) ([]byte, error) {
	options, err := splitOptions(request.ProviderOptions)
	if err != nil {
		return nil, err
	}
	encoded, err := wire.Encode(name, body)
	if err != nil {
		return nil, err
	}
	return wire.AddOptions(name, encoded, options.rest, reserved...)
}

// skeleton returns the request without its contents: all that Check looks at.
func skeleton(request model.Request) (generateRequest, error) {
	var body generateRequest
	if request.System != "" {
		body.SystemInstruction = &content{Parts: []part{{Text: &request.System}}}
	}
	if err := wire.CheckTools(name, request.Tools, validName, "1 to 128 of A-Z a-z 0-9 _ . : - that begin with a letter or _"); err != nil {
		return body, err
	}
	if len(request.Tools) > 0 {
		set := toolSet{}
		for _, tool := range request.Tools {
			set.FunctionDeclarations = append(set.FunctionDeclarations, functionDeclaration{tool.Name, tool.Description, tool.Parameters})
		}
		body.Tools = []toolSet{set}
		body.ToolConfig = choice(request.ToolChoice)
	}
	config, err := configure(request)
	if err != nil {
		return body, err
	}
	body.GenerationConfig = config
	return body, nil
}

// choice is the form of a tool choice, nil for the provider's default.
func choice(c model.ToolChoice) *toolConfig {
	var config functionCallingConfig
	switch c.Mode {
	case model.ToolAuto:
		config.Mode = "AUTO"
	case model.ToolNone:
		config.Mode = "NONE"
	case model.ToolRequired:
		config.Mode = "ANY"
	case model.ToolNamed:
		config.Mode, config.Allowed = "ANY", []string{c.Name}
	default:
		return nil
	}
	return &toolConfig{config}
}

// configure returns the generationConfig with the request's own members of it, nil for
// the provider's defaults.
func configure(request model.Request) (json.RawMessage, error) {
	if len(request.StopSequences) > maxStops {
		return nil, invalid(fmt.Sprintf("there are %d stop sequences, this API takes %d", len(request.StopSequences), maxStops))
	}
	config := generationConfig{
		MaxOutputTokens: request.MaxTokens,
		Temperature:     request.Temperature,
		TopP:            request.TopP,
		StopSequences:   request.StopSequences,
	}
	if f := request.ResponseFormat; f != nil {
		forced := request.ToolChoice.Mode == model.ToolRequired || request.ToolChoice.Mode == model.ToolNamed
		switch {
		case len(request.Tools) == 0:
		case generationOf(request.Model).major == 2:
			return nil, invalid(fmt.Sprintf("the model %q does not support a response format with tools, Gemini 3 and later do", core.Excerpt(request.Model)))
		case forced:
			return nil, invalid("a response format with forced tool calls is not supported by this API")
		}
		config.ResponseMIMEType, config.ResponseJSONSchema = "application/json", f.Schema
	}
	var err error
	if config.ThinkingConfig, err = thinking(request); err != nil {
		return nil, err
	}
	options, err := splitOptions(request.ProviderOptions)
	if err != nil {
		return nil, err
	}
	encoded, err := wire.Encode(name, config)
	if err != nil {
		return nil, err
	}
	for _, member := range options.generation {
		if slices.Contains(reservedConfig, member) || member == "thinkingConfig" && config.ThinkingConfig != nil {
			return nil, invalid("provider_options.generationConfig." + member + " is set by the adapter, remove it")
		}
	}
	if encoded, err = wire.AddOptions(name, encoded, options.config); err != nil || string(encoded) == "{}" {
		return nil, err
	}
	return encoded, nil
}

// Members that the adapter sets, in this request or in others. How calls come is decided
// by toolConfig, which is why that is not given either.
var (
	reserved       = []string{"contents", "systemInstruction", "system_instruction", "toolConfig", "tool_config", "generation_config"}
	reservedConfig = []string{"maxOutputTokens", "temperature", "topP", "stopSequences", "responseMimeType", "responseJsonSchema", "responseSchema"}
)

// options are provider_options: the members of generationConfig, to which the adapter
// adds its own, and the rest.
type options struct {
	config     json.RawMessage
	generation []string // the names of config
	rest       json.RawMessage
}

func splitOptions(raw json.RawMessage) (options, error) {
	var given, config map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return options{rest: raw}, nil // nothing, or what AddOptions refuses
	}
	o := options{config: given["generationConfig"]}
	if o.config == nil {
		o.rest = raw
		return o, nil
	}
	if !wire.IsObject(o.config) || json.Unmarshal(o.config, &config) != nil {
		return o, invalid("provider_options.generationConfig is " + core.Excerpt(string(o.config)) + ", want a JSON object")
	}
	for member := range config {
		o.generation = append(o.generation, member)
	}
	slices.Sort(o.generation)
	delete(given, "generationConfig")
	rest, err := json.Marshal(given)
	o.rest = rest
	return o, err
}

// validName reports whether the API takes a function of the name.
func validName(text string) bool {
	if text == "" || len(text) > maxName || strings.IndexByte("0123456789.:-", text[0]) >= 0 {
		return false
	}
	for i := range len(text) {
		if !nameByte(text[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return letter || c == '_' || c == '.' || c == ':' || c == '-'
}

func invalid(message string) error { return wire.Invalid(name, message) }

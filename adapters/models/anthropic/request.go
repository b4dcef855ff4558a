package anthropic

import (
	"encoding/json"
	"fmt"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// The request as the API spells it. The order of fields, tools and blocks never varies,
// since the prompt cache compares everything before a mark.
type (
	messagesRequest struct {
		Model         string        `json:"model,omitempty"`             // empty on Vertex AI, where the path has it
		Version       string        `json:"anthropic_version,omitempty"` // of Vertex AI, where it is no header
		MaxTokens     int           `json:"max_tokens"`
		Tools         []toolParam   `json:"tools,omitempty"`
		System        []*block      `json:"system,omitempty"`
		Messages      []message     `json:"messages"`
		ToolChoice    *toolChoice   `json:"tool_choice,omitempty"`
		Thinking      *thinking     `json:"thinking,omitempty"`
		OutputConfig  *outputConfig `json:"output_config,omitempty"`
		StopSequences []string      `json:"stop_sequences,omitempty"`
		Temperature   *float64      `json:"temperature,omitempty"`
		TopP          *float64      `json:"top_p,omitempty"`
		Stream        bool          `json:"stream"`

		echoes bool // the model's own thinking goes back to it
	}
	toolParam struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       *cacheControl   `json:"cache_control,omitempty"`
	}
	toolChoice struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
	}
	outputConfig struct {
		Effort string        `json:"effort,omitempty"`
		Format *outputFormat `json:"format,omitempty"`
	}
	outputFormat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	cacheControl struct {
		Type string `json:"type"`
	}
)

// defaultOutput is the limit of a turn's tokens of a request that says none, and
// defaultOutputMax that of one with the effort max: thinking counts towards it. A model
// that can do less has its own most.
const (
	defaultOutput    = 32_000
	defaultOutputMax = 64_000
)

// reserved are the members of the request that are never the caller's: what the adapter
// sets in some requests, and a mark for the cache beyond the four that there may be.
var reserved = []string{
	"tools", "system", "tool_choice", "thinking", "stop_sequences", "temperature", "top_p", "cache_control", "anthropic_version",
}

// vertexVersion is the version of the API as Vertex AI has it.
const vertexVersion = "vertex-2023-10-16"

// encoded is a request on the wire.
type encoded struct {
	body []byte
	beta string // the beta feature that it needs, as the header names it; empty: none
}

// encode returns the request on the wire. One that has no form in the API is a
// *model.Error of KindInvalid.
func encode(request model.Request, vertex bool) (encoded, error) {
	if request.Model == "" {
		return encoded{}, invalid("the request names no model")
	}
	history, err := newHistory(request)
	if err != nil {
		return encoded{}, err
	}
	payload, err := prepare(request, kinOf(request.Model), history)
	if err != nil {
		return encoded{}, err
	}
	if err := payload.converse(request, history); err != nil {
		return encoded{}, err
	}
	if !request.NoPromptCache {
		payload.mark()
	}
	if vertex {
		payload.Model, payload.Version = "", vertexVersion
	}
	var out encoded
	if payload.Thinking != nil && payload.Thinking.Binding != nil {
		out.beta = bindingBeta
	}
	if out.body, err = wire.Encode(name, payload); err != nil {
		return encoded{}, err
	}
	out.body, err = wire.AddOptions(name, out.body, request.ProviderOptions, reserved...)
	return out, err
}

// prepare returns the request but for its messages.
func prepare(request model.Request, k kin, h history) (*messagesRequest, error) {
	payload := &messagesRequest{
		Model: request.Model, Messages: []message{}, StopSequences: request.StopSequences, Stream: true,
	}
	if err := payload.think(request, k, h); err != nil {
		return nil, err
	}
	if err := payload.sample(request, k); err != nil {
		return nil, err
	}
	if err := payload.format(request, k); err != nil {
		return nil, err
	}
	if err := wire.CheckTools(name, request.Tools, plainName, nameForm); err != nil {
		return nil, err
	}
	for _, tool := range request.Tools {
		payload.Tools = append(payload.Tools, encodeTool(tool))
	}
	payload.choose(request, k, h)
	return payload, nil
}

// format asks for a response of a schema.
func (w *messagesRequest) format(request model.Request, k kin) error {
	f := request.ResponseFormat
	if f == nil {
		return nil
	}
	if !k.formats {
		return invalid("a response format is not supported by model " + request.Model)
	}
	schema, err := closed(f.Schema)
	if err != nil {
		return err
	}
	w.config().Format = &outputFormat{Type: "json_schema", Schema: schema}
	return nil
}

// sample sets how the next token is chosen. The API's default values are omitted, and
// models that accept only these refuse others.
func (w *messagesRequest) sample(request model.Request, k kin) error {
	thinks := w.Thinking.on()
	if t := request.Temperature; t != nil && *t != 1 {
		switch {
		case *t > 1:
			return invalid(fmt.Sprintf("temperature %v is not supported by this API, which accepts 0 to 1", *t))
		case !k.sampling:
			return invalid(fmt.Sprintf("temperature %v is not supported by model %s, which accepts only 1", *t, request.Model))
		case thinks:
			return invalid(fmt.Sprintf("temperature %v is not supported with reasoning, which accepts only 1", *t))
		}
		w.Temperature = t
	}
	if p := request.TopP; p != nil && *p != 1 {
		switch {
		case !k.sampling:
			return invalid(fmt.Sprintf("top_p %v is not supported by model %s, which accepts only 1", *p, request.Model))
		case thinks && *p < 0.95:
			return invalid(fmt.Sprintf("top_p %v is not supported with reasoning, which accepts 0.95 to 1", *p))
		}
		w.TopP = p
	}
	if k.either && w.Temperature != nil && w.TopP != nil {
		return invalid(fmt.Sprintf("temperature %v and top_p %v are not supported together by model %s, which accepts one of them", *w.Temperature, *w.TopP, request.Model))
	}
	return nil
}

// choose bounds the choice of tools. If the model thinks, or cannot be kept from it, and
// cannot be forced at the same time, as no model can within a budget, a forced choice
// becomes auto. Without tools there is no choice; but calls of the history must have
// their tools, which then are shown, and the model may call none of them.
func (w *messagesRequest) choose(request model.Request, k kin, h history) {
	if len(request.Tools) == 0 {
		for _, called := range h.called {
			w.Tools = append(w.Tools, encodeTool(model.ToolDefinition{Name: called}))
		}
		if len(w.Tools) > 0 {
			w.ToolChoice = &toolChoice{Type: "none"}
		}
		return
	}
	choice := request.ToolChoice
	within := w.Thinking != nil && w.Thinking.Budget > 0
	free := !within && (k.forced || !k.always && !w.Thinking.on())
	switch {
	case choice.Mode == "":
	case choice.Mode == model.ToolNamed && free:
		w.ToolChoice = &toolChoice{Type: "tool", Name: choice.Name}
	case choice.Mode == model.ToolRequired && free:
		w.ToolChoice = &toolChoice{Type: "any"}
	case choice.Mode == model.ToolNone:
		w.ToolChoice = &toolChoice{Type: "none"}
	default:
		w.ToolChoice = &toolChoice{Type: "auto"}
	}
}

func (w *messagesRequest) config() *outputConfig {
	if w.OutputConfig == nil {
		w.OutputConfig = &outputConfig{}
	}
	return w.OutputConfig
}

func encodeTool(tool model.ToolDefinition) toolParam {
	schema := tool.Parameters
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return toolParam{Name: tool.Name, Description: tool.Description, InputSchema: schema}
}

func invalid(message string) error { return wire.Invalid(name, message) }

package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// responsesProvider implements model.Model over the Responses API. The server keeps nothing:
// each request has the whole conversation, with the model's own reasoning encrypted.
type responsesProvider struct {
	endpoint string
	summary  string
	ids      bool     // reasoning goes back with its ids
	narrow   []narrow // models that know fewer levels than the API
	client   *wire.Client
	header   func(http.Header, secret.String)
}

// openResponses returns a model of a host: that of a dialect, or by the address.
func openResponses(options Options, host Dialect) (*responsesProvider, error) {
	options.Dialect = host
	base, err := options.base()
	if err != nil {
		return nil, err
	}
	key, err := options.check()
	if err != nil {
		return nil, err
	}
	client, err := options.client(base, key)
	if err != nil {
		return nil, err
	}
	host = cmp.Or(host, dialectOf(base.Hostname()))
	return &responsesProvider{
		endpoint: base.JoinPath("responses").String(),
		summary:  options.ReasoningSummary,
		ids:      host != DialectOpenAI,
		narrow:   kins[host].narrow,
		client:   client,
		header:   options.header,
	}, nil
}

// Stream implements model.Model, as that of chatProvider does.
func (m *responsesProvider) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	body, err := m.encode(request)
	if err != nil {
		return wire.Failed(err)
	}
	post := wire.Post{URL: m.endpoint, Body: body, Header: m.header, Idle: request.StreamIdleTimeout}
	return m.client.Stream(ctx, post, func() wire.Turn { return &responseTurn{} })
}

// Check implements model.Checker.
func (m *responsesProvider) Check(request model.Request) error {
	_, err := m.encode(request)
	return wire.Refused(err)
}

// The request as the API spells it.
type (
	responsesRequest struct {
		Model           string              `json:"model"`
		Instructions    string              `json:"instructions,omitempty"`
		Input           []any               `json:"input"`
		Tools           []responsesTool     `json:"tools,omitempty"`
		MaxOutputTokens int                 `json:"max_output_tokens,omitempty"`
		Temperature     *float64            `json:"temperature,omitempty"`
		TopP            *float64            `json:"top_p,omitempty"`
		Reasoning       *responsesReasoning `json:"reasoning,omitempty"`
		Text            *responsesText      `json:"text,omitempty"`
		ToolChoice      any                 `json:"tool_choice,omitempty"` // a mode, or responsesChoice
		Store           bool                `json:"store"`
		Include         []string            `json:"include,omitempty"`
		Stream          bool                `json:"stream"`
	}
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"` // the default is true
	}
	responsesReasoning struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	responsesText struct {
		Format responsesFormat `json:"format"`
	}
	responsesFormat struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	}
	responsesChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
)

// responsesReserved are members that the adapter sets in other requests, if not in this one.
var responsesReserved = []string{"instructions", "tools", "tool_choice", "max_output_tokens", "temperature", "top_p", "text", "previous_response_id", "conversation", "background"}

// encode returns the body of a request. A request that has no wire form is a
// *model.Error of KindInvalid.
func (m *responsesProvider) encode(request model.Request) ([]byte, error) {
	switch {
	case request.Model == "":
		return nil, invalid("the request names no model")
	case len(request.StopSequences) > 0:
		return nil, invalid("stop sequences are not supported by the Responses API")
	}
	if err := checkTools(request.Tools); err != nil {
		return nil, err
	}
	payload := responsesRequest{
		Model:           request.Model,
		Instructions:    request.System,
		MaxOutputTokens: request.MaxTokens,
		Temperature:     request.Temperature,
		TopP:            request.TopP,
		Stream:          true,
	}
	if err := payload.bound(request, m.narrow); err != nil {
		return nil, err
	}
	if reasons(request.Model) {
		payload.Include = []string{"reasoning.encrypted_content"}
		if m.summary != "" {
			if payload.Reasoning == nil {
				payload.Reasoning = &responsesReasoning{}
			}
			payload.Reasoning.Summary = m.summary
		}
	}
	input, err := encodeInput(request, m.ids)
	if err != nil {
		return nil, err
	}
	payload.Input = input
	body, err := wire.Encode(name, payload)
	if err != nil {
		return nil, err
	}
	return wire.AddOptions(name, body, request.ProviderOptions, responsesReserved...)
}

// reasons reports whether a model may reason. OpenAI's that cannot refuse to be asked for
// it; they are no longer made, so that a name that is not known is one that can.
func reasons(model string) bool {
	for _, old := range []string{"gpt-3.5", "gpt-4", "chatgpt-4"} {
		if strings.HasPrefix(base(model), old) {
			return false
		}
	}
	return true
}

// bound sets what bounds the turn: reasoning, format and tools.
func (r *responsesRequest) bound(request model.Request, groups []narrow) error {
	if request.ReasoningEffort != "" {
		level, err := levelOf(request, extraHigh, groups)
		if err != nil {
			return err
		}
		if level != "" {
			r.Reasoning = &responsesReasoning{Effort: level}
		}
	}
	if f := request.ResponseFormat; f != nil {
		schema, strict := schemaOf(f)
		r.Text = &responsesText{responsesFormat{Type: "json_schema", Name: f.Name, Schema: schema, Strict: strict}}
	}
	for _, tool := range request.Tools {
		function := encodeTool(tool).Function
		r.Tools = append(r.Tools, responsesTool{Type: "function", Name: function.Name, Description: function.Description, Parameters: function.Parameters})
	}
	if len(r.Tools) == 0 {
		return nil
	}
	switch request.ToolChoice.Mode {
	case "":
	case model.ToolNamed:
		r.ToolChoice = responsesChoice{Type: "function", Name: request.ToolChoice.Name}
	default:
		r.ToolChoice = string(request.ToolChoice.Mode)
	}
	return nil
}

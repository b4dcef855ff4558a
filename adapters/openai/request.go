package openai

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/adapters/modelwire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The request as the API spells it. Field and tool order never vary, since a
// provider's prompt cache compares bytes.
type (
	chatRequest struct {
		Model               string        `json:"model"`
		Messages            []chatMessage `json:"messages"`
		Tools               []chatTool    `json:"tools,omitempty"`
		MaxTokens           int           `json:"max_tokens,omitempty"`
		MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
		Temperature         *float64      `json:"temperature,omitempty"`
		TopP                *float64      `json:"top_p,omitempty"`
		Stop                []string      `json:"stop,omitempty"`
		ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
		ResponseFormat      *chatFormat   `json:"response_format,omitempty"`
		ToolChoice          any           `json:"tool_choice,omitempty"` // a mode, or chatChoice
		Stream              bool          `json:"stream"`
		StreamOptions       streamOptions `json:"stream_options"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role       string     `json:"role"`
		Content    any        `json:"content"` // *string, null beside tool calls only; []chatPart with files
		ToolCalls  []chatCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID       string           `json:"id"`
		Type     string           `json:"type"`
		Function chatCallFunction `json:"function"`
	}
	chatCallFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatFormat struct {
		Type       string     `json:"type"`
		JSONSchema chatSchema `json:"json_schema"`
	}
	chatSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict,omitempty"`
	}
	chatChoice struct {
		Type     string         `json:"type"`
		Function chatChosenTool `json:"function"`
	}
	chatChosenTool struct {
		Name string `json:"name"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// encode returns the body of a request. A request that has no wire form is a
// *model.Error of KindInvalid.
func encode(request model.Request, dialect Dialect) ([]byte, error) {
	chat := chatRequest{
		Model:         request.Model,
		Temperature:   request.Temperature,
		TopP:          request.TopP,
		Stop:          request.StopSequences,
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
	}
	if request.Model == "" {
		return nil, invalid("the request names no model")
	}
	if err := chat.choose(request); err != nil {
		return nil, err
	}
	if dialect == DialectOpenAI {
		chat.MaxCompletionTokens = request.MaxTokens
	} else {
		chat.MaxTokens = request.MaxTokens
	}
	if request.System != "" {
		chat.Messages = append(chat.Messages, chatMessage{Role: "system", Content: &request.System})
	}
	ids, err := modelwire.CallIDs(name, request.Messages)
	if err != nil {
		return nil, err
	}
	for i, m := range request.Messages {
		wire, err := encodeMessage(m, ids[i])
		if err != nil {
			return nil, err
		}
		chat.Messages = append(chat.Messages, wire)
	}
	for _, tool := range request.Tools {
		chat.Tools = append(chat.Tools, encodeTool(tool))
	}
	return modelwire.Encode(name, chat)
}

// choose sets what bounds the turn: reasoning, format and tools.
func (c *chatRequest) choose(request model.Request) error {
	switch request.ReasoningEffort {
	case "", model.EffortNone, model.EffortLow, model.EffortMedium, model.EffortHigh:
		c.ReasoningEffort = string(request.ReasoningEffort)
	case model.EffortMax:
		c.ReasoningEffort = "xhigh" // the highest level that the API knows
	default: // a budget of tokens
		return invalid(fmt.Sprintf("reasoning effort %q has no form in this API, which has levels", request.ReasoningEffort))
	}
	if f := request.ResponseFormat; f != nil {
		c.ResponseFormat = &chatFormat{Type: "json_schema", JSONSchema: chatSchema{Name: f.Name, Schema: f.Schema, Strict: f.Strict}}
	}
	if len(request.Tools) == 0 {
		return nil // a choice without tools is refused by some servers
	}
	switch request.ToolChoice.Mode {
	case "":
	case model.ToolNamed:
		c.ToolChoice = chatChoice{Type: "function", Function: chatChosenTool{request.ToolChoice.Name}}
	default:
		c.ToolChoice = string(request.ToolChoice.Mode)
	}
	return nil
}

func encodeMessage(m core.Message, ids modelwire.IDs) (chatMessage, error) {
	text := m.Text()
	wire := chatMessage{Role: string(m.Role), Content: &text}
	switch m.Role {
	case core.RoleUser:
		parts, err := encodeParts(m.Content)
		if err != nil {
			return chatMessage{}, err
		}
		if parts != nil {
			wire.Content = parts
		}
	case core.RoleSystem:
	case core.RoleAssistant:
		for i, call := range m.ToolCalls {
			wire.ToolCalls = append(wire.ToolCalls, chatCall{
				ID:       ids.Calls[i],
				Type:     "function",
				Function: chatCallFunction{Name: call.Name, Arguments: modelwire.ArgumentText(call.Arguments)},
			})
		}
		if text == "" && len(m.ToolCalls) > 0 {
			wire.Content = nil
		}
	case core.RoleTool:
		wire.ToolCallID = ids.Result
	default:
		return chatMessage{}, invalid(fmt.Sprintf("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role))))
	}
	return wire, nil
}

func encodeTool(tool model.ToolDefinition) chatTool {
	parameters := tool.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return chatTool{Type: "function", Function: chatFunction{Name: tool.Name, Description: tool.Description, Parameters: parameters}}
}

func invalid(message string) error { return modelwire.Invalid(name, message) }

package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The request as the API spells it. Field and tool order never vary, since a
// provider's prompt cache compares bytes.
type (
	chatRequest struct {
		Model               string         `json:"model"`
		Messages            []chatMessage  `json:"messages"`
		Tools               []chatTool     `json:"tools,omitempty"`
		MaxTokens           int            `json:"max_tokens,omitempty"`
		MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
		Temperature         *float64       `json:"temperature,omitempty"`
		TopP                *float64       `json:"top_p,omitempty"`
		Stop                []string       `json:"stop,omitempty"`
		ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
		Reasoning           *chatReasoning `json:"reasoning,omitempty"`            // OpenRouter
		Thinking            *chatThinking  `json:"thinking,omitempty"`             // DeepSeek, Z.ai
		Template            *chatTemplate  `json:"chat_template_kwargs,omitempty"` // llama.cpp
		ResponseFormat      *chatFormat    `json:"response_format,omitempty"`
		ToolChoice          any            `json:"tool_choice,omitempty"` // a mode, or chatChoice
		Stream              bool           `json:"stream"`
		StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	}
	chatReasoning struct {
		Effort    string `json:"effort,omitempty"`
		MaxTokens int    `json:"max_tokens,omitempty"`
	}
	chatThinking struct {
		Type string `json:"type"`
	}
	chatTemplate struct {
		EnableThinking  *bool  `json:"enable_thinking,omitempty"`
		ReasoningEffort string `json:"reasoning_effort,omitempty"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	chatMessage struct {
		Role             string            `json:"role"`
		Content          any               `json:"content"`                     // *string, null only with tool calls; []chatPart with files
		ReasoningContent string            `json:"reasoning_content,omitempty"` // DeepSeek, Z.ai
		ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"` // OpenRouter
		ToolCalls        []chatCall        `json:"tool_calls,omitempty"`
		ToolCallID       string            `json:"tool_call_id,omitempty"`
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
		Type       string      `json:"type"`
		JSONSchema *chatSchema `json:"json_schema,omitempty"`
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

// reserved are members that the adapter sets in other requests, if not in this one. How
// much the model reasons is not among them: servers have more levels than we.
var reserved = []string{"max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "stream_options", "n"}

// encode returns the body of a request. A request that has no wire form is a
// *model.Error of KindInvalid.
func encode(request model.Request, k kin) ([]byte, error) {
	if request.Model == "" {
		return nil, invalid("the request names no model")
	}
	if err := checkTools(request.Tools); err != nil {
		return nil, err
	}
	chat := chatRequest{
		Model:       request.Model,
		Temperature: request.Temperature,
		TopP:        request.TopP,
		Stop:        request.StopSequences,
		Stream:      true,
	}
	if k.usage {
		chat.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if k.limit == limitCompletion {
		chat.MaxCompletionTokens = request.MaxTokens
	} else {
		chat.MaxTokens = request.MaxTokens
	}
	for _, tool := range request.Tools {
		chat.Tools = append(chat.Tools, encodeTool(tool))
	}
	if err := k.choose(&chat, request.ToolChoice); err != nil {
		return nil, err
	}
	if err := k.effort(&chat, request); err != nil {
		return nil, err
	}
	if err := chat.say(request, k); err != nil {
		return nil, err
	}
	body, err := wire.Encode(name, chat)
	if err != nil {
		return nil, err
	}
	return wire.AddOptions(name, body, request.ProviderOptions, reserved...)
}

// say sets the system prompt, the messages and the form of the response.
func (c *chatRequest) say(request model.Request, k kin) error {
	system := request.System
	if f := request.ResponseFormat; f != nil {
		schema, strict := schemaOf(f)
		c.ResponseFormat = &chatFormat{Type: "json_schema", JSONSchema: &chatSchema{Name: f.Name, Schema: schema, Strict: strict}}
		if k.unschooled {
			c.ResponseFormat = &chatFormat{Type: "json_object"}
			system = strings.TrimPrefix(system+"\n\n", "\n\n") + "Respond with one JSON object of this JSON Schema, and with nothing else:\n" + string(f.Schema)
		}
	}
	if system != "" {
		c.Messages = append(c.Messages, chatMessage{Role: "system", Content: &system})
	}
	ids, err := wire.CallIDs(name, request.Messages)
	if err != nil {
		return err
	}
	files := resultFiles{kin: k, request: &request}
	for i, m := range request.Messages {
		payload, err := k.message(m, ids[i])
		if err != nil {
			return err
		}
		if m.Role == core.RoleTool {
			payload.Content = files.take(m.ToolResult)
		} else if err := c.follow(&files, k); err != nil {
			return err
		}
		if m.Role == core.RoleAssistant {
			if len(m.ToolCalls) == 0 && m.Text() == "" {
				continue // it says nothing, which some servers refuse
			}
			k.giveBack(&payload, m, request.Origin, c.Thinking != nil)
		}
		if k.strict {
			c.order(&payload)
		}
		c.Messages = append(c.Messages, payload)
	}
	return c.follow(&files, k)
}

// order makes the next message valid for Mistral at its place: only the first may be a
// system message, and a user's message never follows a result.
func (c *chatRequest) order(next *chatMessage) {
	last := len(c.Messages) - 1
	if next.Role == "system" && last >= 0 && c.Messages[last].Role != "system" {
		next.Role = "user"
	}
	if next.Role == "user" && last >= 0 && c.Messages[last].Role == "tool" {
		text := "I have the results."
		c.Messages = append(c.Messages, chatMessage{Role: "assistant", Content: &text})
	}
}

const maxName = 64

// plainName is the name of a call as the API takes it.
func plainName(called string) string { return wire.MadePlain(called, maxName) }

// checkTools returns the error of tools that the API refuses.
func checkTools(tools []model.ToolDefinition) error {
	return wire.CheckTools(name, tools, func(name string) bool { return wire.PlainName(name, maxName) }, "1 to 64 of A-Z a-z 0-9 _ -")
}

func (k kin) message(m core.Message, ids wire.IDs) (chatMessage, error) {
	text := m.Text()
	payload := chatMessage{Role: string(m.Role), Content: &text}
	switch m.Role {
	case core.RoleUser:
		parts, err := k.encodeParts(m.Content)
		if err != nil {
			return chatMessage{}, err
		}
		if parts != nil {
			payload.Content = parts
		}
	case core.RoleSystem:
	case core.RoleAssistant:
		for i, call := range m.ToolCalls {
			payload.ToolCalls = append(payload.ToolCalls, chatCall{
				ID:       k.id(ids.Calls[i]),
				Type:     "function",
				Function: chatCallFunction{Name: plainName(call.Name), Arguments: string(wire.ArgumentObject(call.Arguments))},
			})
		}
		if text == "" && len(m.ToolCalls) > 0 {
			payload.Content = nil
		}
	case core.RoleTool:
		payload.ToolCallID = k.id(ids.Result)
	default:
		return chatMessage{}, invalid(fmt.Sprintf("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role))))
	}
	return payload, nil
}

func encodeTool(tool model.ToolDefinition) chatTool {
	parameters := tool.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return chatTool{Type: "function", Function: chatFunction{Name: tool.Name, Description: tool.Description, Parameters: parameters}}
}

func invalid(message string) error { return wire.Invalid(name, message) }

package aisdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// request is the body of a chat request. Unknown keys are ignored, because the
// client merges whatever the application adds.
type request struct {
	ID        string      `json:"id"`
	ThreadID  string      `json:"threadId"`
	AgentID   string      `json:"agentId"`
	Trigger   string      `json:"trigger"`
	MessageID string      `json:"messageId"`
	Messages  []uiMessage `json:"messages"`
}

// uiMessage is a UIMessage as far as we read and write it.
type uiMessage struct {
	ID    string   `json:"id"`
	Role  string   `json:"role"`
	Parts []uiPart `json:"parts"`
}

// uiPart is one part of a UIMessage: text, reasoning, step-start or tool-<name>.
type uiPart struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	State      string          `json:"state,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
}

// decodeRequest reads a chat request. It does not judge it; see input.
func decodeRequest(body []byte) (request, error) {
	var r request
	err := json.Unmarshal(body, &r)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return r, core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: %v", syntax.Offset, err)
	case errors.As(err, &kind):
		return r, core.Errorf(core.CodeInvalid, "body: %s is a JSON %s, which does not belong there", orBody(kind.Field), kind.Value)
	case err != nil:
		return r, core.Errorf(core.CodeInvalid, "body: %v", err)
	}
	if r.ID == "" {
		r.ID = r.ThreadID
	}
	return r, nil
}

func orBody(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// input returns the new messages of a request: the user messages at the end of
// the history. Everything before is known to the thread.
func (r request) input() ([]core.Message, error) {
	if len(r.Messages) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "messages are empty, at least one is required")
	}
	if r.Trigger == "regenerate-message" {
		return nil, core.Errorf(core.CodeUnsupported, "trigger regenerate-message is not supported yet")
	}
	first := len(r.Messages)
	for first > 0 && r.Messages[first-1].Role == string(core.RoleUser) {
		first--
	}
	if first == len(r.Messages) {
		return nil, noInput(r.Messages[first-1])
	}
	last := r.Messages[len(r.Messages)-1]
	if r.MessageID != "" && r.MessageID == last.ID {
		return nil, core.Errorf(core.CodeUnsupported, "editing a sent message is not supported yet, send a new one")
	}
	var input []core.Message
	for i, m := range r.Messages[first:] {
		converted, err := m.user(fmt.Sprintf("messages[%d]", first+i))
		if err != nil {
			return nil, err
		}
		input = append(input, converted)
	}
	return input, nil
}

// noInput says why a history that does not end with a user message is refused.
func noInput(last uiMessage) error {
	for _, p := range last.Parts {
		if !strings.HasPrefix(p.Type, "tool-") && p.Type != "dynamic-tool" {
			continue
		}
		switch p.State {
		case "approval-responded", "output-available", "output-error", "output-denied":
			return core.Errorf(core.CodeUnsupported, "tool part %q in state %q: approvals and client tool outputs are not supported yet",
				core.Excerpt(p.ToolCallID), p.State)
		}
	}
	return core.Errorf(core.CodeInvalid, "no new message: the last of messages has role %q, want user", core.Excerpt(last.Role))
}

// user converts a user message; at names it in errors.
func (m uiMessage) user(at string) (core.Message, error) {
	if err := core.CheckName(at+".id", m.ID); err != nil {
		return core.Message{}, err
	}
	var text strings.Builder
	for i, p := range m.Parts {
		switch p.Type {
		case "text":
			text.WriteString(p.Text)
		case "file":
			return core.Message{}, core.Errorf(core.CodeUnsupported, "%s.parts[%d]: files are not supported yet", at, i)
		}
		// Data parts are the application's own; the official converter skips them too.
	}
	if strings.TrimSpace(text.String()) == "" {
		return core.Message{}, core.Errorf(core.CodeInvalid, "%s has no text", at)
	}
	return core.UserMessage(m.ID, text.String()), nil
}

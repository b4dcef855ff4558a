package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// input is a RunAgentInput. Unknown fields are ignored, by the protocol.
type input struct {
	ThreadID        string            `json:"threadId"`
	RunID           string            `json:"runId"`
	ProtocolVersion string            `json:"protocolVersion"`
	ParentRunID     string            `json:"parentRunId"`
	State           json.RawMessage   `json:"state"`
	Messages        []json.RawMessage `json:"messages"`
	Tools           []frontendTool    `json:"tools"`
	Context         []contextItem     `json:"context"`
	ForwardedProps  json.RawMessage   `json:"forwardedProps"`
	Resume          []resumeEntry     `json:"resume"`

	messages []inMessage // Messages, read
}

// inMessage is a message of the client's history, as far as it is read.
type inMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`
}

type frontendTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type contextItem struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// resumeEntry answers an interrupt.
type resumeEntry struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"` // resolved, cancelled
	Payload     json.RawMessage `json:"payload"`
}

// maxForwarded bounds forwardedProps, in bytes: they go into the run's request.
const maxForwarded = 12 << 10

// decodeInput reads a request's body. Whether its messages say anything is not judged.
func decodeInput(body []byte) (in input, err error) {
	err = json.Unmarshal(body, &in)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return in, core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: %v", syntax.Offset, err)
	}
	if err != nil {
		return in, core.Errorf(core.CodeInvalid, "body: %w", core.DecodeError(err))
	}
	in.messages = make([]inMessage, len(in.Messages))
	for i, raw := range in.Messages {
		if err := in.messages[i].read(raw); err != nil {
			return in, core.Errorf(core.CodeInvalid, "messages[%d]: %w", i, core.DecodeError(err))
		}
	}
	return in, in.check()
}

// read reads a message of a body that was decoded, without decoding it again: a history has
// many. It refers to the text.
func (m *inMessage) read(raw json.RawMessage) error {
	if raw[0] != '{' {
		return json.Unmarshal(raw, m) // only null is taken
	}
	for name, value := range protocol.Members(raw) {
		if bytes.EqualFold(name, []byte("content")) {
			m.Content = value
			continue
		}
		to := m.member(name)
		if to == nil || string(value) == "null" {
			continue
		}
		text, ok := protocol.Unquote(value)
		if !ok {
			return json.Unmarshal(raw, m) // for its error
		}
		*to = text
	}
	return nil
}

// member returns the member of a name whose value is a text; nil: there is none.
func (m *inMessage) member(name []byte) *string {
	switch {
	case bytes.EqualFold(name, []byte("id")):
		return &m.ID
	case bytes.EqualFold(name, []byte("role")):
		return &m.Role
	case bytes.EqualFold(name, []byte("toolCallId")):
		return &m.ToolCallID
	case bytes.EqualFold(name, []byte("error")):
		return &m.Error
	}
	return nil
}

// check validates what does not depend on what the input is for.
func (in *input) check() error {
	if in.RunID != "" { // it is returned, and is a key
		if err := core.CheckName("runId", in.RunID); err != nil {
			return err
		}
	}
	if in.ParentRunID != "" {
		if err := core.CheckName("parentRunId", in.ParentRunID); err != nil {
			return err
		}
	}
	if len(in.ForwardedProps) > maxForwarded {
		return core.Errorf(core.CodeTooLarge, "forwardedProps have %d bytes, at most %d are allowed", len(in.ForwardedProps), maxForwarded)
	}
	if !absent(in.State) && !bytes.HasPrefix(bytes.TrimSpace(in.State), []byte("{")) {
		return core.Errorf(core.CodeInvalid, "state must be a JSON object")
	}
	for i, r := range in.Resume {
		switch {
		case r.InterruptID == "":
			return core.Errorf(core.CodeInvalid, "resume[%d].interruptId is empty", i)
		case r.Status != "resolved" && r.Status != "cancelled":
			return core.Errorf(core.CodeInvalid, "resume[%d].status is %q, allowed are resolved and cancelled", i, core.Excerpt(r.Status))
		}
	}
	return nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// modern reports whether the client uses version 1.0 or newer: only these send their
// version.
func (in *input) modern() bool { return in.ProtocolVersion != "" }

// sharedState is the client's copy of the shared state; nil: it has none. A client that
// knows of no state sends {}, which must not take away what the thread has.
func (in *input) sharedState() json.RawMessage {
	var members map[string]json.RawMessage
	if absent(in.State) || json.Unmarshal(in.State, &members) != nil || len(members) == 0 {
		return nil
	}
	return in.State
}

// frontend is the client's part of a run; nil: none. Its system and developer messages
// are not part of the thread: they are context, like the member context.
func (in *input) frontend() (*core.Frontend, error) {
	f := core.Frontend{State: in.sharedState()}
	for _, t := range in.Tools {
		tool := core.FrontendTool{Name: t.Name, Description: t.Description}
		if !absent(t.Parameters) {
			tool.Parameters = t.Parameters
		}
		f.Tools = append(f.Tools, tool)
	}
	for i, m := range in.messages {
		if m.Role != "system" && m.Role != "developer" {
			continue
		}
		text, err := m.text(fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		if !core.Blank(text) {
			f.Context = append(f.Context, core.FrontendContext{Description: "Instructions of the application", Value: text})
		}
	}
	for _, c := range in.Context {
		f.Context = append(f.Context, core.FrontendContext{Description: c.Description, Value: c.Value})
	}
	if f.State == nil && f.Tools == nil && f.Context == nil {
		return nil, nil
	}
	return &f, nil
}

// request is what hooks and tools are given of the input: what the application has
// added.
func (in *input) request() (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if absent(in.ForwardedProps) || json.Unmarshal(in.ForwardedProps, &members) == nil && len(members) == 0 {
		return nil, nil
	}
	return core.EncodeJSON(map[string]any{"ag_ui": map[string]json.RawMessage{"forwardedProps": in.ForwardedProps}})
}

// tail are the messages after the agent's last one: they may be new.
func (in *input) tail() []inMessage {
	first := len(in.messages)
	for first > 0 && !in.messages[first-1].spoken() {
		first--
	}
	return in.messages[first:]
}

// spoken reports whether the agent has said a message.
func (m inMessage) spoken() bool { return m.Role == "assistant" || m.Role == "reasoning" }

// said are the user messages at the end of the history.
func (in *input) said() (all []core.Message, err error) {
	for i, m := range in.tail() {
		if m.Role != "user" {
			continue
		}
		content, err := m.blocks(fmt.Sprintf("messages[%d]", len(in.messages)-len(in.tail())+i))
		if err != nil {
			return nil, err
		}
		if m.ID != "" {
			if err := core.CheckName("message id", m.ID); err != nil {
				return nil, err
			}
		}
		all = append(all, core.Message{ID: m.ID, Role: core.RoleUser, Content: content})
	}
	return all, nil
}

// given are the results of tools at the end of the history.
func (in *input) given() (all []inMessage) {
	for _, m := range in.tail() {
		if m.Role == "tool" && m.ToolCallID != "" {
			all = append(all, m)
		}
	}
	return all
}

// text is the content of a message that can have text alone.
func (m inMessage) text(at string) (string, error) {
	content, err := m.blocks(at)
	if err != nil {
		return "", err
	}
	for i, b := range content {
		if b.Type != core.BlockText {
			return "", core.Errorf(core.CodeUnsupported, "%s.content[%d]: a %s message may have only text", at, i, core.Excerpt(m.Role))
		}
	}
	return core.Message{Content: content}.Text(), nil
}

package aisdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// request is the body of a chat request. The client merges the application's own fields,
// which are kept for the run's hooks and tools; see extra.
type request struct {
	ID        string      `json:"id"`
	ThreadID  string      `json:"threadId"`
	AgentID   string      `json:"agentId"`
	Trigger   string      `json:"trigger"`
	MessageID string      `json:"messageId"`
	Messages  []uiMessage `json:"messages"`

	skipped  int             // messages before the first one that were not read
	approval lasting         // of the body: for each answer of the request without its own value
	extra    json.RawMessage // the other fields, as an object; nil: there are no others
}

// requestKey is the member of a run's request that holds the fields of the body which
// the protocol does not define.
const requestKey = "ai_sdk"

// defined are the fields of the body that the protocol defines.
var defined = []string{"id", "threadId", "agentId", "trigger", "messageId", "messages"}

// isDefined reports whether the protocol defines a field of the body, with the names that
// the decoder takes.
func isDefined(name []byte) bool {
	return slices.ContainsFunc(defined, func(d string) bool { return bytes.EqualFold(name, []byte(d)) })
}

// uiMessage is a UIMessage as far as we read and write it.
type uiMessage struct {
	ID    string   `json:"id"`
	Role  string   `json:"role"`
	Parts []uiPart `json:"parts"`
	// Content is what older clients send instead of parts, and what people write by
	// hand: a text, or a list of {type: "text", text}. We never write it.
	Content json.RawMessage `json:"content,omitempty"`
}

// uiPart is one part of a UIMessage: text, reasoning, file, step-start or tool-<name>.
type uiPart struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	State      string          `json:"state,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
	*ToolPart

	MediaType string `json:"mediaType,omitempty"` // of a file, as the two below
	URL       string `json:"url,omitempty"`       // a data URL has the bytes
	Filename  string `json:"filename,omitempty"`

	SourceID string `json:"sourceId,omitempty"` // of a source
	Title    string `json:"title,omitempty"`
}

// ToolPart has the rare members of a tool part; nil: it has none of them. It is apart since a
// history has many parts, and exported since package json makes no embedded struct of another
// kind.
type ToolPart struct {
	Approval *approval `json:"approval,omitempty"`
	ToolName string    `json:"toolName,omitempty"` // of type dynamic-tool
}

// approval is what a tool part says of its approval: Approved is absent while it
// is asked for.
type approval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
	lasting
}

// lasting says for how long an answer holds and for what, as core.Decision has it. The
// protocol does not know it: an application puts it into the approval of the part, or for
// all approvals of a request into the body's member approval, which it can give the
// client's functions as an option.
type lasting struct {
	Remember   core.Remember   `json:"remember,omitempty"`
	RememberAs core.RememberAs `json:"rememberAs,omitempty"`
}

// decodeRequest reads a chat request. It does not judge it; see input.
func decodeRequest(body []byte) (request, error) {
	var r request
	err := json.Unmarshal(body, &r)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return r, core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: %v", syntax.Offset, err)
	}
	if err != nil {
		return r, core.Errorf(core.CodeInvalid, "body: %w", core.DecodeError(err))
	}
	if r.ID == "" {
		r.ID = r.ThreadID
	}
	return r, r.readOthers(body)
}

// readOthers reads the fields of a body that [request] has no members for. The body was
// decoded before: it is not decoded again for a few short fields beside a long history.
// Fields that the protocol does not define are under one key, so that an application that
// several protocols reach can tell them apart.
func (r *request) readOthers(body []byte) (err error) {
	others, lasts := map[string]json.RawMessage{}, json.RawMessage(nil)
	for name, value := range protocol.Members(body) {
		if bytes.EqualFold(name, []byte("approval")) {
			lasts = value
		}
		if !isDefined(name) {
			others[string(name)] = value
		}
	}
	if r.approval, err = lastingOf(lasts); err != nil || len(others) == 0 {
		return err
	}
	if r.extra, err = core.EncodeJSON(map[string]any{requestKey: others}); err != nil { // cannot be: it was decoded
		return core.Errorf(core.CodeInvalid, "body: %v", err)
	}
	return nil
}

// lastingOf reads the body's member approval. A value of another form, in a request that
// decides nothing, is the application's own.
func lastingOf(text json.RawMessage) (l lasting, err error) {
	if !bytes.HasPrefix(text, []byte("{")) {
		return l, nil
	}
	if json.Unmarshal(text, &l) != nil {
		return l, core.Errorf(core.CodeInvalid, "approval: remember and rememberAs must be strings")
	}
	return l, nil
}

// check refuses what is neither input nor decisions.
func (r request) check() error {
	if len(r.Messages) == 0 {
		return core.Errorf(core.CodeInvalid, "messages are empty, at least one is required")
	}
	return nil
}

// continued returns the assistant message that a request continues, whose tool parts
// decide: the named message, or the last of all. Otherwise a user message at the end is
// new input, after any message.
func (r request) continued() (uiMessage, bool) {
	for _, m := range r.Messages {
		if m.ID == r.MessageID && m.Role == string(core.RoleAssistant) && r.MessageID != "" {
			return m, true
		}
	}
	last := r.Messages[len(r.Messages)-1]
	return last, last.Role == string(core.RoleAssistant)
}

// input returns the new messages of a request: the user messages at the end of
// the history. Everything before is known to the thread.
func (r request) input() ([]core.Message, error) {
	first := len(r.Messages)
	for first > 0 && r.Messages[first-1].Role == string(core.RoleUser) {
		first--
	}
	if first == len(r.Messages) {
		return nil, core.Errorf(core.CodeInvalid, "no new message: the last of messages has role %q, want user", core.Excerpt(r.Messages[first-1].Role))
	}
	var input []core.Message
	for i, m := range r.Messages[first:] {
		converted, err := m.user(fmt.Sprintf("messages[%d]", r.skipped+first+i))
		if err != nil {
			return nil, err
		}
		input = append(input, converted)
	}
	return input, nil
}

// messageKey makes a submission safe to send again, by the id of its last
// message: the client keeps it when it tries again. One without an id is new.
func messageKey(input []core.Message) string {
	last := input[len(input)-1]
	if last.ID == "" {
		return ""
	}
	return "message:" + last.ID
}

// user converts a user message; at names it in errors. Only one whose
// content is written out may do without an id.
func (m uiMessage) user(at string) (core.Message, error) {
	parts, written, err := m.content(at)
	if err != nil {
		return core.Message{}, err
	}
	if m.ID != "" || !written {
		if err := core.CheckName(at+".id", m.ID); err != nil {
			return core.Message{}, err
		}
	}
	message := core.Message{ID: m.ID, Role: core.RoleUser}
	for i, p := range parts {
		switch p.Type {
		case "text":
			message.Content = appendText(message.Content, p.Text)
		case "file":
			file, err := p.file(fmt.Sprintf("%s.parts[%d]", at, i))
			if err != nil {
				return core.Message{}, err
			}
			message.Content = append(message.Content, file)
		}
		// Data parts are the application's own; the official converter skips them too.
	}
	if core.Blank(message.Text()) && !slices.ContainsFunc(message.Content, isFile) {
		return core.Message{}, core.Errorf(core.CodeInvalid, "%s has no text and no file", at)
	}
	return message, nil
}

func isFile(b core.Block) bool { return b.Type == core.BlockFile }

// appendText adds text to the block of text at the end, or as a new one.
func appendText(content []core.Block, text string) []core.Block {
	if n := len(content); n > 0 && content[n-1].Type == core.BlockText {
		content[n-1].Text += text
		return content
	}
	return append(content, core.Block{Type: core.BlockText, Text: text})
}

// content returns the parts of a message: those that it has, else those that its
// content is, and then written is true.
func (m uiMessage) content(at string) (parts []uiPart, written bool, err error) {
	if len(m.Parts) > 0 || len(m.Content) == 0 || string(m.Content) == "null" {
		return m.Parts, false, nil
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []uiPart{{Type: "text", Text: text}}, true, nil
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil, true, core.Errorf(core.CodeInvalid, "%s.content must be a string or a list of {type, text} and {type, mediaType, url}", at)
	}
	for i, p := range parts {
		if p.Type != "text" && p.Type != "file" {
			return nil, true, core.Errorf(core.CodeUnsupported, "%s.content[%d]: type %q is not supported, allowed are text and file", at, i, core.Excerpt(p.Type))
		}
	}
	return parts, true, nil
}

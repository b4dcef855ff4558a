package agui

import (
	"bytes"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// event is one item of the stream. Each type uses some of the fields. A required field of
// a type is never absent, an unknown one never present: the client of today warns of an
// unknown field, and the one of 0.0.59 refuses some.
type event struct {
	Type            string          `json:"type"`
	ThreadID        string          `json:"threadId,omitempty"`
	RunID           string          `json:"runId,omitempty"`
	ParentRunID     string          `json:"parentRunId,omitempty"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	StepName        string          `json:"stepName,omitempty"`
	MessageID       string          `json:"messageId,omitempty"`
	ToolCallID      string          `json:"toolCallId,omitempty"`
	ToolCallName    string          `json:"toolCallName,omitempty"`
	ParentMessageID string          `json:"parentMessageId,omitempty"`
	Role            string          `json:"role,omitempty"`
	Delta           any             `json:"delta,omitempty"`   // text of a message or call; patch of a state
	Content         any             `json:"content,omitempty"` // text of a result, object of an activity
	Snapshot        json.RawMessage `json:"snapshot,omitempty"`
	Messages        any             `json:"messages,omitempty"`
	ActivityType    string          `json:"activityType,omitempty"`
	Replace         *bool           `json:"replace,omitempty"`
	Patch           json.RawMessage `json:"patch,omitempty"`
	Subtype         string          `json:"subtype,omitempty"`
	EntityID        string          `json:"entityId,omitempty"`
	EncryptedValue  string          `json:"encryptedValue,omitempty"`
	Name            string          `json:"name,omitempty"`
	Value           any             `json:"value,omitempty"`
	Result          any             `json:"result,omitempty"`
	Outcome         *outcome        `json:"outcome,omitempty"`
	Message         string          `json:"message,omitempty"`
	Code            string          `json:"code,omitempty"`
}

// outcome is the outcome of a run; absent: success.
type outcome struct {
	Type               string      `json:"type"` // success, interrupt, cancelled
	PendingToolCallIDs []string    `json:"pendingToolCallIds,omitempty"`
	Interrupts         []interrupt `json:"interrupts,omitempty"`
}

// interrupt is what a run waits for.
type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
}

// events encodes the payloads of one event of a run into one buffer, which the next
// uses again: a stream has thousands.
type events struct {
	buffer bytes.Buffer
	json   *json.Encoder
	event  event    // being encoded: it lies here, so that encoding it allocates nothing
	out    [][]byte // payloads, which lie in the buffer
	err    error
}

// reset forgets the payloads, whose bytes are used again.
func (s *events) reset() {
	if s.json == nil {
		s.json = json.NewEncoder(&s.buffer)
		s.json.SetEscapeHTML(false)
	}
	s.buffer.Reset()
	s.out, s.err = s.out[:0], nil
}

// emit adds an event. An event that cannot be encoded ends the stream early, so that no
// client takes it for complete.
func (s *events) emit(one event) {
	begin := s.buffer.Len()
	s.event = one
	if err := s.json.Encode(&s.event); err != nil {
		s.buffer.Truncate(begin)
		if s.err == nil {
			s.err = core.Errorf(core.CodeInternal, "encode %s: %w", one.Type, err)
		}
		return
	}
	s.out = append(s.out, bytes.TrimSuffix(s.buffer.Bytes()[begin:], []byte("\n")))
}

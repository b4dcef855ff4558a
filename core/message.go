package core

import (
	"encoding/json"
	"strings"
)

// Role is the author of a message.
type Role string

// The roles of a stored message. The system prompt belongs to the agent spec
// and is never stored.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	// RoleSystem is the runtime's and the plugins' voice in a model's request. No
	// stored message has it.
	RoleSystem Role = "system"
)

// BlockType is the kind of a content block.
type BlockType string

// The block types.
const (
	BlockText      BlockType = "text"
	BlockReasoning BlockType = "reasoning"
	BlockFile      BlockType = "file" // of a person or a tool: an image, a document, sound; see [Block.CheckFile]
)

// Block is one part of a message's content. Blocks keep the order of the response or input.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`

	// MediaType is the type of a file, such as image/png. A file has either Data, or the
	// URL from which the provider fetches it.
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"` // base64 in JSON
	URL       string `json:"url,omitempty"`
	Filename  string `json:"filename,omitempty"` // name for people and models; the runtime opens no path

	// Echo is an opaque value, such as a reasoning signature. It must be sent unchanged to
	// the model that made it, and to no other. Origin is that model, as provider/name. Most
	// blocks have neither.
	Echo   json.RawMessage `json:"echo,omitempty"`
	Origin string          `json:"origin,omitempty"`

	// Annotations are the citations of a model's text, in the order of their parts of it.
	Annotations []Annotation `json:"annotations,omitempty"`
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object; arguments that are invalid JSON are kept as a JSON string

	// Echo and Origin are those of a [Block], for providers that sign calls.
	Echo   json.RawMessage `json:"echo,omitempty"`
	Origin string          `json:"origin,omitempty"`
}

// Usage counts tokens as the provider reports them; zero means not reported.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	// CacheWriteHour is the part of CacheWrite that the provider keeps for an hour.
	CacheWriteHour int `json:"cache_write_hour,omitempty"`
	// Long is the part of calls whose input was longer than the length from which on their
	// model costs more; absent: no part was.
	Long *LongUsage `json:"long,omitempty"` // shared by copies, and so never changed; see [Usage.Equal]
}

// LongUsage counts tokens of calls with a long input: see [Usage].
type LongUsage struct {
	Input          int `json:"input,omitempty"`
	Output         int `json:"output,omitempty"`
	CacheRead      int `json:"cache_read,omitempty"`
	CacheWrite     int `json:"cache_write,omitempty"`
	CacheWriteHour int `json:"cache_write_hour,omitempty"`
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Reasoning + v.Reasoning, u.CacheWriteHour + v.CacheWriteHour,
		u.Long.add(v.Long),
	}
}

// add returns the sum, which is nil if nothing is left.
func (l *LongUsage) add(m *LongUsage) *LongUsage {
	switch {
	case m == nil:
		return l
	case l == nil:
		return m
	}
	sum := LongUsage{l.Input + m.Input, l.Output + m.Output, l.CacheRead + m.CacheRead, l.CacheWrite + m.CacheWrite, l.CacheWriteHour + m.CacheWriteHour}
	if sum == (LongUsage{}) {
		return nil
	}
	return &sum
}

// Equal reports whether two usages count the same.
func (u Usage) Equal(v Usage) bool {
	var a, b LongUsage
	if u.Long != nil {
		a = *u.Long
	}
	if v.Long != nil {
		b = *v.Long
	}
	u.Long, v.Long = nil, nil
	return u == v && a == b
}

// Minus returns the counts without those of v, which may have fewer of each.
func (u Usage) Minus(v Usage) Usage {
	var less *LongUsage
	if l := v.Long; l != nil {
		less = &LongUsage{-l.Input, -l.Output, -l.CacheRead, -l.CacheWrite, -l.CacheWriteHour}
	}
	return u.Add(Usage{-v.Input, -v.Output, -v.CacheRead, -v.CacheWrite, -v.Reasoning, -v.CacheWriteHour, less})
}

// Above returns the counts of one call. All of them are Long if its input has more than so
// many tokens; 0: no input is long.
func (u Usage) Above(tokens int) Usage {
	u.Long = nil
	if tokens > 0 && u.Input > tokens {
		u.Long = &LongUsage{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteHour}
	}
	return u
}

// Message is one entry of a conversation.
type Message struct {
	ID         string      `json:"id"`
	Role       Role        `json:"role"`
	Content    []Block     `json:"content,omitempty"`
	ToolCalls  []ToolCall  `json:"tool_calls,omitempty"`  // role assistant
	ToolResult *ToolResult `json:"tool_result,omitempty"` // role tool
	RunID      ID          `json:"run_id,omitzero"`       // the run that stored it
	Step       int         `json:"step,omitempty"`        // its step, from 1
	Usage      *Usage      `json:"usage,omitempty"`       // role assistant
	Model      string      `json:"model,omitempty"`       // role assistant: the model of the response, by the provider's name for it
	Provider   string      `json:"provider,omitempty"`    // role assistant: the provider of the model; empty if unknown
	StopReason StopReason  `json:"stop_reason,omitempty"` // role assistant
	CreatedAt  int64       `json:"created_at,omitempty"`  // Unix milliseconds

	// Repair marks a message of role user that the runtime wrote: the response before it
	// did not have the form that the run requires, or the run failed after it.
	Repair bool `json:"repair,omitempty"`

	// Pending marks accepted input that no step has read yet. It is set for clients, and
	// never stored.
	Pending bool `json:"pending,omitempty"`

	// Decided marks the result of a call that waited and was decided. It is set for
	// clients, and never stored.
	Decided bool `json:"decided,omitempty"`
}

// IsInput reports whether the message is input to the agent: of role user, and not the
// runtime's own.
func (m *Message) IsInput() bool { return m.Role == RoleUser && !m.Repair }

// Text joins the text blocks. For role tool it is what the model reads.
func (m Message) Text() string {
	if m.Role == RoleTool && m.ToolResult != nil {
		return m.ToolResult.Text()
	}
	if len(m.Content) == 1 && m.Content[0].Type == BlockText {
		return m.Content[0].Text
	}
	var b strings.Builder
	for _, block := range m.Content {
		if block.Type == BlockText {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// Window is the part of a thread that a model received for a turn. It is in the turn's
// record, and the next step starts with it: the content of a request follows from the log,
// in every process, and its start stays the same until a step cuts again. Sequences are
// those of the log; 0 means none.
type Window struct {
	First uint64 `json:"first,omitempty"` // of the oldest message that was shown; 0: all were
	Short uint64 `json:"short,omitempty"` // large results before it were shown as references
	// Summary is the closed turn up to which a summary replaced the messages. It is before
	// First.
	Summary uint64 `json:"summary,omitempty"`
	// Opening is the run's first message, which is shown before First when that has moved
	// past it; later runs show it too, until they cut.
	Opening uint64 `json:"opening,omitempty"`
	Compact uint64 `json:"compact,omitempty"` // the closed turn up to which a summary is requested
	Skipped uint64 `json:"skipped,omitempty"` // the last such turn of which none was made

	Estimate int `json:"estimate,omitempty"` // of the request, in tokens, as it is reckoned from its bytes
	Tokens   int `json:"tokens,omitempty"`   // of the request, as the provider counts them; 0: it did not say
	// Limit is the largest request, in tokens, that a refusal of the provider names, or that
	// the runtime then assumed; 0: neither.
	Limit int `json:"limit,omitempty"`
	// Known is what the process had learnt of the model's window from earlier refusals, in
	// tokens; 0: nothing that is smaller than the window of the agent.
	Known int `json:"known,omitempty"`

	// Prefix are hashes of the parts of the request before the conversation: the offered
	// tools, the system prompt with the additions of plugins, and the context messages
	// before the conversation.
	Prefix [3]uint32 `json:"prefix,omitzero"`
	// Refused reports that the provider had refused a longer request before.
	Refused bool `json:"refused,omitempty"`
}

// UserMessage returns a user's message of one text block, without an id: a submission
// gives it one.
func UserMessage(text string) Message {
	return Message{Role: RoleUser, Content: []Block{{Type: BlockText, Text: text}}}
}

// WithID returns the message with an id of the caller's choice.
func (m Message) WithID(id string) Message {
	m.ID = id
	return m
}

// StopReason says why a model stopped.
type StopReason string

// The stop reasons, common to all providers.
const (
	StopEndTurn         StopReason = "end_turn"
	StopToolUse         StopReason = "tool_use"
	StopMaxTokens       StopReason = "max_tokens"
	StopSequence        StopReason = "stop_sequence"
	StopContentFilter   StopReason = "content_filter"
	StopContextOverflow StopReason = "context_overflow"
	StopOther           StopReason = "other"
)

// ResultStatus is how a call got its result.
type ResultStatus string

// The result statuses. A decision about a call looks at its status, never at a text.
const (
	ResultOK          ResultStatus = "ok"           // The tool returned the result.
	ResultError       ResultStatus = "error"        // The tool failed, timed out or panicked.
	ResultInvalid     ResultStatus = "invalid"      // The tool does not exist, or its arguments do not match its schema.
	ResultBlocked     ResultStatus = "blocked"      // A gate blocked the call and ended the run.
	ResultDenied      ResultStatus = "denied"       // A decision or a rule denied the call. The tool did not run.
	ResultSet         ResultStatus = "set"          // A gate or a decision provided the result. The tool did not run.
	ResultCancelled   ResultStatus = "cancelled"    // The ticket was cancelled, or new input superseded it.
	ResultNotExecuted ResultStatus = "not_executed" // The run ended or was stopped before the call.
	ResultUnknown     ResultStatus = "unknown"      // The tool may have run, and must not run twice.
)

// ToolResult is the outcome of a tool call. Each call has exactly one.
type ToolResult struct {
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Data    json.RawMessage `json:"data,omitempty"`    // any JSON
	Message string          `json:"message,omitempty"` // text that the model reads instead of Data
	// Content are texts and files that the model reads after Data or Message, such as an
	// image: blocks of type text and file. Files are checked like those of a person, see
	// [Block.CheckFile]. One result has at most 16 blocks.
	Content []Block      `json:"content,omitempty"`
	IsError bool         `json:"is_error,omitempty"`
	Status  ResultStatus `json:"status,omitempty"`

	// Metadata is for programs, with any JSON under each name. Clients and hooks read it;
	// the model does not.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Text is the text that the model reads: Message if there is one, else Data as JSON, and
// then the texts of Content, each on its own lines.
func (r ToolResult) Text() string {
	text := r.Message
	if text == "" {
		text = string(r.Data)
	}
	for i := range r.Content {
		b := &r.Content[i]
		switch {
		case b.Type != BlockText || b.Text == "":
		case text == "":
			text = b.Text
		default:
			text += "\n" + b.Text
		}
	}
	return text
}

package agui

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// message is a message as the protocol has it.
type message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"` // *string, or []part with files; absent of an assistant that only calls
	ToolCalls  []toolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	Error      string     `json:"error,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// transcript is a client's copy of the conversation, as far as a response has sent it:
// first the client's own messages, then those that the events make. It is the content of
// a MESSAGES_SNAPSHOT, which replaces the client's copy, message by message, and drops
// unnamed messages: the only way to withdraw a message.
type transcript struct {
	before []json.RawMessage // as the client sent them, or the server has them
	said   []message         // finished messages of this response
	open   turn
	last   string // id of the turn that was opened last
}

// turn is an assistant message that is being told.
type turn struct {
	id        string
	text      strings.Builder
	spoken    bool // it has text
	reasoning []thought
	calls     []spokenCall
}

type thought struct {
	id   string
	text []byte
}

type spokenCall struct {
	id, name  string
	arguments []byte
}

// begin opens the turn with an id; the one before it is finished.
func (t *transcript) begin(id string) {
	if t.open.id == id {
		return
	}
	t.finish()
	t.open.id, t.last = id, id
}

// finish takes the open turn over into the conversation.
func (t *transcript) finish() {
	t.said = append(t.said, t.open.messages()...)
	t.open = turn{}
}

// messages are those of the turn, its reasoning first.
func (t *turn) messages() (all []message) {
	for i := range t.reasoning {
		text := string(t.reasoning[i].text)
		all = append(all, message{ID: t.reasoning[i].id, Role: "reasoning", Content: &text})
	}
	if !t.spoken && len(t.calls) == 0 {
		return all
	}
	m := message{ID: t.id, Role: "assistant"}
	if t.spoken {
		text := t.text.String()
		m.Content = &text
	}
	for i := range t.calls {
		c := &t.calls[i]
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: c.id, Type: "function", Function: function{Name: c.name, Arguments: string(c.arguments)}})
	}
	return append(all, m)
}

// think begins another piece of reasoning in the open turn and returns its id.
func (t *transcript) think() string {
	id := reasoningID(t.open.id, len(t.open.reasoning))
	t.open.reasoning = append(t.open.reasoning, thought{id: id})
	return id
}

// reasoningID is the id of a turn's reasoning, by its place among those of the turn.
func reasoningID(turn string, i int) string { return turn + ".reasoning." + strconv.Itoa(i) }

func (t *transcript) call(id string) *spokenCall {
	i := slices.IndexFunc(t.open.calls, func(c spokenCall) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return &t.open.calls[i]
}

// drop takes a call of the open turn back.
func (t *transcript) drop(id string) {
	t.open.calls = slices.DeleteFunc(t.open.calls, func(c spokenCall) bool { return c.id == id })
}

// void withdraws the last turn, with the results of its calls, and reports whether any
// part of it was sent. Its reasoning stays, empty: a client keeps reasoning that a
// snapshot does not name.
func (t *transcript) void() (told bool) {
	t.finish()
	kept := t.said[:0:0]
	for _, m := range t.said {
		if m.ID == t.last || strings.HasPrefix(m.ID, t.last+".") {
			told = true
			if m.Role != "reasoning" {
				continue
			}
			m.Content = new("")
		}
		kept = append(kept, m)
	}
	t.said, t.open.id = kept, t.last
	return told
}

// all is the whole conversation. A message that is said again takes the place of the
// one before.
func (t *transcript) all() []any {
	said := append(slices.Clip(t.said), t.open.messages()...)
	newest := map[string]int{}
	for i, m := range said {
		newest[m.ID] = i
	}
	messages := make([]any, 0, len(t.before)+len(said))
	for _, raw := range t.before {
		var m struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		}
		if json.Unmarshal(raw, &m) != nil || m.Role == "activity" {
			continue
		}
		if _, again := newest[m.ID]; !again {
			messages = append(messages, raw)
		}
	}
	for i, m := range said {
		if newest[m.ID] == i {
			messages = append(messages, m)
		}
	}
	return messages
}

// convert brings a thread's messages, oldest first, into the form of the protocol, which
// has none for what the runtime says to a model.
func convert(messages []core.Message) []message {
	all := []message{}
	for _, m := range messages {
		if m.Repair {
			continue
		}
		switch m.Role {
		case core.RoleUser:
			all = append(all, message{ID: m.ID, Role: "user", Content: userContent(m)})
		case core.RoleAssistant:
			all = append(all, assistant(m)...)
		case core.RoleTool:
			if r := m.ToolResult; r != nil {
				text := resultText(protocol.Output(r.Data, r.Content), r.IsError, r.Text())
				tool := message{ID: m.ID, Role: "tool", ToolCallID: r.CallID, Content: &text}
				if r.IsError {
					tool.Error = r.Text()
				}
				all = append(all, tool)
			}
		}
	}
	return all
}

// assistant is a turn, as the stream has told it.
func assistant(m core.Message) []message {
	t := turn{id: m.ID}
	for _, b := range m.Content {
		switch b.Type {
		case core.BlockText:
			t.text.WriteString(b.Text)
			t.spoken = t.spoken || b.Text != ""
		case core.BlockReasoning:
			if b.Text != "" {
				t.reasoning = append(t.reasoning, thought{id: reasoningID(m.ID, len(t.reasoning)), text: []byte(b.Text)})
			}
		}
	}
	for _, c := range m.ToolCalls {
		t.calls = append(t.calls, spokenCall{id: c.ID, name: c.Name, arguments: c.Arguments})
	}
	return t.messages()
}

// resultText is the content of a tool message: a text as it is, other data as JSON, an
// error as {"error": text}.
func resultText(data json.RawMessage, failed bool, text string) string {
	if failed {
		b, _ := core.EncodeJSON(map[string]string{"error": text}) // strings always encode
		return string(b)
	}
	if len(data) == 0 {
		return text
	}
	return plain(data)
}

// plain is JSON as a text: what a string says, other values as they are.
func plain(data json.RawMessage) string {
	var text string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data)
}

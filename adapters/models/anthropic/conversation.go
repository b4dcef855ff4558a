package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// omitted is the first message of a conversation whose beginning the window has cut off
// in front of a turn of the model's: the API wants a person's first.
const omitted = "[What was said before is left out here.]"

// converse sets the system prompt and the messages.
//
//   - Messages of one side in a row are one message, with results first.
//   - Plugins' context before the conversation is part of the system prompt; other
//     context is text of the user's message at its place.
//   - Text without a visible character is omitted, and so is a message with nothing else:
//     the API refuses both.
func (w *messagesRequest) converse(request model.Request, h history) error {
	messages := request.Messages
	w.addSystem(request.System)
	lead := 0
	for lead < len(messages) && messages[lead].Role == core.RoleSystem {
		w.addSystem(messages[lead].Text())
		lead++
	}
	behind := len(messages)
	for behind > lead && messages[behind-1].Role == core.RoleSystem {
		behind--
	}
	for i := lead; i < len(messages); i++ {
		role, content, err := w.encodeMessage(&request, messages[i], h.ids[i])
		if err != nil {
			return err
		}
		if i >= behind {
			for _, b := range content {
				b.(*block).volatile = true // plugins' context is text
			}
		}
		w.add(role, content)
	}
	if len(w.Messages) == 0 {
		return invalid("the request has no message")
	}
	for i := range w.Messages {
		if w.Messages[i].Role == roleUser {
			slices.SortStableFunc(w.Messages[i].Content, resultsFirst)
		}
	}
	return nil
}

// addSystem adds a block to the system prompt.
func (w *messagesRequest) addSystem(text string) {
	if seen(text) {
		w.System = append(w.System, &block{Type: typeText, Text: text})
	}
}

// add adds what a side said to its message.
func (w *messagesRequest) add(role string, content []any) {
	if len(content) == 0 {
		return
	}
	last := len(w.Messages) - 1
	if last >= 0 && w.Messages[last].Role == role {
		w.Messages[last].Content = append(w.Messages[last].Content, content...)
		return
	}
	if last < 0 && role == roleAssistant {
		w.Messages = append(w.Messages, message{Role: roleUser, Content: []any{&block{Type: typeText, Text: omitted}}})
	}
	w.Messages = append(w.Messages, message{Role: role, Content: content})
}

// resultsFirst orders the content of a user's message.
func resultsFirst(a, b any) int {
	rank := func(content any) int {
		if b, ok := content.(*block); ok && b.Type == typeResult {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// encodeMessage returns which side says a message, and its content.
func (w *messagesRequest) encodeMessage(request *model.Request, m core.Message, ids wire.IDs) (role string, content []any, err error) {
	switch m.Role {
	case core.RoleUser, core.RoleSystem:
		content, err = encodeContent(m.Content)
		return roleUser, content, err
	case core.RoleTool:
		content, err = encodeResult(request, m.ToolResult, ids.Result)
		return roleUser, content, err
	case core.RoleAssistant:
		return roleAssistant, w.encodeTurn(m, ids, request.Origin), nil
	}
	return "", nil, invalid(fmt.Sprintf("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role))))
}

// encodeResult returns the result of a call: a text, or blocks where it has files. The API
// takes text alone in the result of a failed call, so that its files follow it.
func encodeResult(request *model.Request, r *core.ToolResult, id string) ([]any, error) {
	result := &block{Type: typeResult, ToolUseID: id, IsError: r.IsError}
	content := wire.ResultContent(request, r, func(b core.Block) error {
		_, err := encodeFile(b)
		return err
	})
	text, files := wire.Split(content)
	if len(files) > 0 && !r.IsError {
		blocks, err := encodeContent(content)
		result.Content = blocks
		return []any{result}, err
	}
	if seen(text) {
		result.Content = text
	}
	if len(files) == 0 {
		return []any{result}, nil
	}
	blocks, err := encodeContent(append([]core.Block{{Type: core.BlockText, Text: wire.FilesOf(r)}}, files...))
	return append([]any{result}, blocks...), err
}

// encodeTurn returns what the model said: its own thinking as it came and text, then calls.
func (w *messagesRequest) encodeTurn(m core.Message, ids wire.IDs, origin string) (content []any) {
	for _, b := range m.Content {
		switch {
		case own(b, origin) && w.echoes:
			content = append(content, json.RawMessage(b.Echo))
		case b.Type == core.BlockText && seen(b.Text):
			content = append(content, &block{Type: typeText, Text: b.Text})
		}
	}
	for i, call := range m.ToolCalls {
		content = append(content, &block{
			Type: "tool_use", ID: ids.Calls[i], Name: wire.MadePlain(call.Name, maxName), Input: wire.ArgumentObject(call.Arguments),
		})
	}
	return content
}

// encodeContent returns the blocks of what a person, or a plugin, said.
func encodeContent(content []core.Block) (blocks []any, err error) {
	for _, b := range content {
		switch b.Type {
		case core.BlockText:
			if seen(b.Text) {
				blocks = append(blocks, &block{Type: typeText, Text: b.Text})
			}
		case core.BlockFile:
			file, err := encodeFile(b)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, file)
		}
	}
	return blocks, nil
}

// seen reports whether text has more than space.
func seen(text string) bool { return strings.TrimSpace(text) != "" }

package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The items of the input of the Responses API. Reasoning goes back as it is kept.
type (
	inputMessage struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content any    `json:"content"` // a text, or []inputPart
		Phase   string `json:"phase,omitempty"`
	}
	inputPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		Detail   string `json:"detail,omitempty"` // of an image: required
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
		FileURL  string `json:"file_url,omitempty"`
	}
	inputCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	inputResult struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a text, or []inputPart with files
	}
)

// encodeInput returns the items of a conversation. ids says that reasoning has its ids.
func encodeInput(request model.Request, ids bool) ([]any, error) {
	calls, err := wire.CallIDs(name, request.Messages)
	if err != nil {
		return nil, err
	}
	items := []any{} // the API wants a list
	for i, m := range request.Messages {
		switch m.Role {
		case core.RoleSystem:
			items = append(items, inputMessage{Type: "message", Role: "system", Content: m.Text()})
		case core.RoleUser:
			content, err := inputContent(m.Content)
			if err != nil {
				return nil, err
			}
			items = append(items, inputMessage{Type: "message", Role: "user", Content: content})
		case core.RoleAssistant:
			items = append(items, inputTurn(m, calls[i].Calls, request.Origin, ids)...)
		case core.RoleTool:
			output, err := resultOutput(&request, m.ToolResult)
			if err != nil {
				return nil, err
			}
			items = append(items, inputResult{Type: "function_call_output", CallID: calls[i].Result, Output: output})
		default:
			return nil, invalid(fmt.Sprintf("message %q has the role %q", core.Excerpt(m.ID), core.Excerpt(string(m.Role))))
		}
	}
	return items, nil
}

// inputTurn returns the items of a turn in the order in which they were said. A turn that
// has nothing to say has none. Text is plain: vLLM accepts parts of it only with an id and
// a status, which no other host would know.
func inputTurn(m core.Message, calls []string, origin string, ids bool) []any {
	var items []any
	said := 0 // items up to the last that is not reasoning
	for _, b := range m.Content {
		own := b.Origin == origin
		switch {
		case b.Type == core.BlockText && b.Text != "":
			message := inputMessage{Type: "message", Role: "assistant", Content: b.Text}
			if own {
				message.Phase = phaseOf(b.Echo)
			}
			items = append(items, message)
			said = len(items)
		case b.Type == core.BlockReasoning && own:
			items = appendReasoning(items, b.Echo, ids)
		}
	}
	for i, call := range m.ToolCalls {
		if call.Origin == origin {
			items = appendReasoning(items, call.Echo, ids)
		}
		items = append(items, inputCall{Type: "function_call", CallID: calls[i], Name: plainName(call.Name), Arguments: string(wire.ArgumentObject(call.Arguments))})
		said = len(items)
	}
	return items[:said] // reasoning without the item that followed it is refused
}

// resultOutput is what the model reads of a result: a text, or parts where there are files.
func resultOutput(request *model.Request, r *core.ToolResult) (any, error) {
	content := wire.ResultContent(request, r, func(b core.Block) error {
		_, err := inputFile(b)
		return err
	})
	if text, files := wire.Split(content); len(files) == 0 {
		return text, nil
	}
	return inputContent(content)
}

// inputContent is the content of a user's message: a text, or parts where there are files.
func inputContent(content []core.Block) (any, error) {
	var parts []inputPart
	files := false
	for _, b := range content {
		switch b.Type {
		case core.BlockText:
			if b.Text == "" {
				continue // a part without its text is refused
			}
			parts = append(parts, inputPart{Type: "input_text", Text: b.Text})
		case core.BlockFile:
			part, err := inputFile(b)
			if err != nil {
				return nil, err
			}
			parts, files = append(parts, part), true
		}
	}
	if !files {
		return core.Message{Content: content}.Text(), nil
	}
	return parts, nil
}

// inputFile is one file. Text goes out as text, under its name.
func inputFile(b core.Block) (part inputPart, err error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return part, invalid(fmt.Sprintf("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType)))
	}
	data := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	switch {
	case strings.HasPrefix(kind, "image/"):
		return inputPart{Type: "input_image", ImageURL: cmp.Or(b.URL, data), Detail: "auto"}, nil
	case kind == "application/pdf" && b.URL != "":
		return inputPart{Type: "input_file", FileURL: b.URL}, nil
	case kind == "application/pdf":
		return inputPart{Type: "input_file", Filename: cmp.Or(b.Filename, "document.pdf"), FileData: data}, nil
	case b.URL == "" && (strings.HasPrefix(kind, "text/") || kind == "application/json"):
		return inputPart{Type: "input_text", Text: cmp.Or(b.Filename, "text") + ":\n" + string(b.Data)}, nil
	}
	return part, invalid(fmt.Sprintf("a file of media type %s is not supported by this API, which accepts images, PDF and the bytes of text", kind))
}

// reasoningItem is a reasoning item as it is returned, without its status, which only the
// server's store knows. The same holds for the id at OpenAI; other hosts require it, as the
// API's description does. Content is the text of hosts that do not encrypt it.
type reasoningItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitempty"`
	Summary   json.RawMessage `json:"summary"`
	Content   json.RawMessage `json:"content,omitempty"`
	Encrypted string          `json:"encrypted_content,omitempty"`
}

// appendReasoning appends the item that an echo is. It appends nothing for another echo: a
// model of the same name may have been spoken to over Chat Completions before.
func appendReasoning(items []any, echo json.RawMessage, ids bool) []any {
	var item reasoningItem
	if json.Unmarshal(echo, &item) != nil || item.Type != "reasoning" || item.Encrypted == "" && len(item.Content) == 0 {
		return items
	}
	if !ids {
		item.ID = ""
	}
	return append(items, item)
}

// textEcho is the echo of a text.
type textEcho struct {
	Phase string `json:"phase"` // commentary, or final_answer
}

// phaseOf returns the phase of a text; empty: it has none.
func phaseOf(echo json.RawMessage) string {
	var e textEcho
	_ = json.Unmarshal(echo, &e) // another echo has none
	return e.Phase
}

package openai

import (
	"bytes"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// contentEcho is the echo of a block of reasoning whose text goes back as
// reasoning_content: there is nothing to it but that it is this model's own.
var contentEcho = json.RawMessage(`"reasoning_content"`)

// noReasoning goes back for a turn whose reasoning is another model's, or not there:
// DeepSeek refuses turns with calls that have none while it reasons, an empty one too.
const noReasoning = " "

// giveBack sets what the server wants back of a turn's reasoning. What another model
// has signed is not for it. silent says that the model does not reason in this request.
func (k kin) giveBack(wire *chatMessage, m core.Message, origin string, silent bool) {
	var own []core.Block
	for _, b := range m.Content {
		if b.Type == core.BlockReasoning && b.Echo != nil && b.Origin == origin {
			own = append(own, b)
		}
	}
	switch k.echo {
	case echoContent, echoRequired:
		if len(m.ToolCalls) == 0 {
			return // it would be ignored
		}
		for _, b := range own {
			wire.ReasoningContent += b.Text
		}
		if wire.ReasoningContent == "" && k.echo == echoRequired && !silent {
			wire.ReasoningContent = noReasoning
		}
	case echoDetails:
		for _, b := range own {
			var details []json.RawMessage
			if json.Unmarshal(b.Echo, &details) == nil {
				wire.ReasoningDetails = append(wire.ReasoningDetails, details...)
			}
		}
	}
}

// detail is one of OpenRouter's reasoning_details, or a piece of one. Members that are
// not known go back as they came.
type detail map[string]json.RawMessage

// joined appends a piece to the details that came so far: texts of one place are one
// text, whose signature comes with the last piece.
func joined(details []detail, piece detail) []detail {
	last := len(details) - 1
	if last < 0 || !details[last].goesOn(piece) {
		return append(details, piece)
	}
	for member, value := range piece {
		if member == "text" || member == "summary" {
			value = concatenated(details[last][member], value)
		}
		if !bytes.Equal(value, []byte("null")) || details[last][member] == nil {
			details[last][member] = value
		}
	}
	return details
}

// goesOn reports whether piece is more of the same. Encrypted details are whole.
func (d detail) goesOn(piece detail) bool {
	kind := string(d["type"])
	if kind != `"reasoning.text"` && kind != `"reasoning.summary"` {
		return false
	}
	return kind == string(piece["type"]) && bytes.Equal(d["index"], piece["index"])
}

// concatenated is the JSON of two strings together; what is none counts as empty.
func concatenated(a, b json.RawMessage) json.RawMessage {
	var left, right string
	_ = json.Unmarshal(a, &left)
	_ = json.Unmarshal(b, &right)
	both, err := json.Marshal(left + right)
	if err != nil {
		return a // a string has always a form
	}
	return both
}

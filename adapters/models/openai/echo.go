package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// contentEcho is the echo of a block of reasoning whose text goes back as
// reasoning_content: there is nothing to it but that it is this model's own.
var contentEcho = json.RawMessage(`"reasoning_content"`)

// noReasoning goes back for a turn whose reasoning is another model's, or not there:
// DeepSeek refuses turns with calls that have none while it reasons, an empty one too.
const noReasoning = " "

// giveBack sets the parts of a turn's reasoning that the server requires. Reasoning
// signed by another model is omitted. silent reports that the model does not reason in
// this request.
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
			if bytes.Equal(b.Echo, contentEcho) {
				wire.ReasoningContent += b.Text
			}
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

// maxHeld is how much of a turn is kept until it is complete, in bytes: of calls that wait
// for reasoning details, and of those.
const maxHeld = 16 << 20

// detail is one of OpenRouter's reasoning_details, or a piece of one. Members that are
// not known go back as they came.
type detail map[string]json.RawMessage

// details are those of a turn, whose pieces come in.
type details struct {
	all  []*joined
	size int // of the kept details, in bytes
}

// joined is a detail of which pieces were put together. A text is kept apart until all of
// it is there, since each piece would encode the whole of it again.
type joined struct {
	detail
	texts map[string]*strings.Builder // text and summary, once they have two pieces
}

// add takes a piece: texts of one place are one text, whose signature comes with the last
// piece.
func (d *details) add(piece detail) {
	last := len(d.all) - 1
	if last < 0 || !d.all[last].goesOn(piece) {
		d.all = append(d.all, &joined{detail: piece})
		d.size += 64 // about what an empty one takes
		for member, value := range piece {
			d.size += len(member) + len(value)
		}
		return
	}
	to := d.all[last]
	for member, value := range piece {
		switch {
		case member == "text" || member == "summary":
			d.size += to.write(member, value)
		case !bytes.Equal(value, []byte("null")) || to.detail[member] == nil:
			d.size += len(value) - len(to.detail[member])
			to.detail[member] = value
		}
	}
}

// write appends to a text, and returns the number of bytes. A value that is not a string
// counts as empty.
func (j *joined) write(member string, value json.RawMessage) int {
	text := func(value json.RawMessage) (text string) {
		_ = json.Unmarshal(value, &text)
		return text
	}
	b := j.texts[member]
	if b == nil {
		if j.texts == nil {
			j.texts = map[string]*strings.Builder{}
		}
		b = &strings.Builder{}
		b.WriteString(text(j.detail[member]))
		j.texts[member] = b
	}
	n, _ := b.WriteString(text(value)) // never fails
	return n
}

// encoded returns the details as JSON, nil if there are no details.
func (d *details) encoded() json.RawMessage {
	if len(d.all) == 0 {
		return nil
	}
	whole := make([]detail, 0, len(d.all))
	for _, j := range d.all {
		for member, b := range j.texts {
			j.detail[member], _ = json.Marshal(b.String()) // a string has always a form
		}
		whole = append(whole, j.detail)
	}
	encoded, err := json.Marshal(whole)
	if err != nil {
		return nil // it was JSON
	}
	return encoded
}

// goesOn reports whether piece is more of the same. Encrypted details are whole.
func (d detail) goesOn(piece detail) bool {
	kind := string(d["type"])
	if kind != `"reasoning.text"` && kind != `"reasoning.summary"` {
		return false
	}
	return kind == string(piece["type"]) && bytes.Equal(d["index"], piece["index"])
}

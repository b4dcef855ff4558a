package gemini

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// echo is what a block or a call keeps of a signature: the signature, and the part that
// it came with. Signed parts go back as they came: a signature is for exactly the text
// of its part, which the block's other parts do not belong to.
type echo struct {
	Signature string `json:"thoughtSignature"`
	// On is the kind of part: onThought or onText, empty for a call.
	On string `json:"on,omitempty"`
	// Bytes is the length of the part's text: the end of the block's own, or, of a part
	// of text, of the block before.
	Bytes int `json:"bytes,omitempty"`
}

const (
	onThought = "thought"
	onText    = "text"
)

// echoOf returns the echo of a signature, nil for none.
func echoOf(signature, on string, bytes int) json.RawMessage {
	if signature == "" {
		return nil
	}
	encoded, err := json.Marshal(echo{Signature: signature, On: on, Bytes: bytes})
	if err != nil {
		return nil // a struct of texts and a number has always a form
	}
	return encoded
}

// own reads an echo that is for the request's model; ok is false for none, and for one
// of another model.
func own(raw json.RawMessage, origin, request string) (e echo, ok bool) {
	if len(raw) == 0 || origin != request || json.Unmarshal(raw, &e) != nil {
		return echo{}, false
	}
	return e, e.Signature != ""
}

// addEcho adds the signed part of a reasoning block to the parts of a turn, all of which
// are texts so far. A part of text is the end of the text before it; where that is no longer so, the signature is
// dropped.
func addEcho(parts []part, b core.Block, e echo) []part {
	if e.On == onThought {
		text := b.Text[max(len(b.Text)-e.Bytes, 0):]
		return append(parts, part{Text: &text, Thought: true, ThoughtSignature: e.Signature})
	}
	text := ""
	if e.Bytes > 0 {
		last := len(parts) - 1
		if last < 0 || parts[last].ThoughtSignature != "" || len(*parts[last].Text) < e.Bytes {
			return parts
		}
		before := *parts[last].Text
		text, before = before[len(before)-e.Bytes:], before[:len(before)-e.Bytes]
		if parts = parts[:last]; before != "" {
			parts = append(parts, part{Text: &before})
		}
	}
	return append(parts, part{Text: &text, ThoughtSignature: e.Signature})
}

package inference

import (
	"encoding/json"
	"strings"
)

// callBuilder collects the arguments of one call. They are shown as they will be
// stored, compact, and judged as they were sent: whether a text is JSON must not
// depend on omitted blanks.
type callBuilder struct {
	index     int // the provider's
	id, name  string
	echo      json.RawMessage // of a provider that signs calls
	sent      strings.Builder // the arguments as the model sent them
	arguments compactor       // as they are shown and stored
}

// compactor drops the blanks between the tokens of a JSON text that comes in
// pieces: the stored text has none, and positions count its bytes. A piece may end
// anywhere, within a string or after a backslash, hence the two flags.
type compactor struct {
	kept            strings.Builder
	quoted, escaped bool
}

// size is how many bytes are kept.
func (c *compactor) size() int { return c.kept.Len() }

// add takes a piece and returns what is left of it.
func (c *compactor) add(text string) string {
	from := c.kept.Len()
	for i := range len(text) {
		switch b := text[i]; {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
			continue
		}
		c.kept.WriteByte(text[i])
	}
	return c.kept.String()[from:]
}

// complete reports whether no more of the arguments can come: the beginning of a
// JSON object is never one itself.
func (c *callBuilder) complete() bool {
	text := c.arguments.kept.String()
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// whole returns the arguments as they are stored. Arguments that are not JSON
// become a JSON string, which no schema of an object accepts. Missing arguments
// become an empty object, unless the turn was cut off where they may have been on
// their way.
func (c *callBuilder) whole(cut bool) json.RawMessage {
	text := c.arguments.kept.String()
	switch {
	case text == "" && cut:
		return json.RawMessage(`""`)
	case text == "":
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(c.sent.String())) { // blanks may have parted what is one token without them
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(c.sent.String()) // a string always encodes
	return quoted
}

package protocol

import (
	"encoding/json"
	"net/url"

	"github.com/reveille-run/reveille/core"
)

// Output returns the data of a result for clients that have one value for it: the data, or,
// if the result has texts after it, all that the model reads as one text. nil: neither.
func Output(data json.RawMessage, content []core.Block) json.RawMessage {
	r := core.ToolResult{Message: text(data)}
	for _, b := range content {
		if b.Type == core.BlockText && b.Text != "" {
			r.Content = append(r.Content, b)
		}
	}
	if len(r.Content) == 0 {
		return data
	}
	said, _ := json.Marshal(r.Text()) // a text has always a form
	return said
}

// text is what a JSON string says, other JSON as it is.
func text(data json.RawMessage) string {
	var said string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &said) == nil {
		return said
	}
	return string(data)
}

// Link reports whether clients may make a link of an address that a model or its provider
// has named: it is absolute, and http or https.
func Link(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

package core

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON is json.Marshal without the escaping of <, > and &: what a model
// or a tool said is stored, and read by models, as it was said.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// object is a JSON object that is taken apart key by key, so that a key that
// nobody takes can be named. encoding/json alone would accept keys in another
// case and keys that repeat.
type object struct {
	at     string // where it stands, for errors
	values map[string]json.RawMessage
}

// readObject reads the body of a request.
func readObject(r *http.Request) (object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return object{}, core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return object{}, core.Errorf(core.CodeInvalid, "body is empty, a JSON object is required")
	}
	return parseObject(body)
}

func parseObject(body []byte) (object, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return object{}, core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: %v", syntax.Offset, err)
		}
		return object{}, core.Errorf(core.CodeInvalid, "body is not JSON: %v", err)
	}
	return asObject("body", raw)
}

// asObject splits valid JSON into the members of an object.
func asObject(at string, raw json.RawMessage) (object, error) {
	o := object{at: at, values: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return o, core.Errorf(core.CodeInvalid, "%s must be a JSON object", at)
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return o, core.Errorf(core.CodeInvalid, "%s is not JSON", at)
		}
		if _, twice := o.values[key]; twice {
			return o, core.Errorf(core.CodeInvalid, "%s has the key %q twice", at, core.Excerpt(key))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return o, core.Errorf(core.CodeInvalid, "%s: %v", o.path(key), err)
		}
		o.values[key] = value
	}
	return o, nil
}

func (o object) path(key string) string {
	if o.at == "body" {
		return key
	}
	return o.at + "." + key
}

// take removes and returns the value of a key that may be spelled in several
// ways; found is false when it is absent.
func (o object) take(names ...string) (path string, raw json.RawMessage, found bool, err error) {
	taken := ""
	for _, name := range names {
		value, ok := o.values[name]
		if !ok {
			continue
		}
		if found {
			return "", nil, false, core.Errorf(core.CodeInvalid, "%s has both %s and %s", o.at, taken, name)
		}
		delete(o.values, name)
		taken, raw, found = name, value, true
	}
	if !found {
		taken = names[0]
	}
	return o.path(taken), raw, found, nil
}

// text takes an optional string.
func (o object) text(names ...string) (string, error) {
	path, raw, found, err := o.take(names...)
	if err != nil || !found {
		return "", err
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", core.Errorf(core.CodeInvalid, "%s must be a string", path)
	}
	return s, nil
}

// end refuses keys that nobody took.
func (o object) end() error {
	unknown := ""
	for key := range o.values {
		if unknown == "" || key < unknown {
			unknown = key
		}
	}
	if len(o.values) > 0 {
		return core.Errorf(core.CodeInvalid, "%s has the unknown key %q", o.at, core.Excerpt(unknown))
	}
	return nil
}

// messages takes the required list of input messages.
func (o object) messages() ([]core.Message, error) {
	path, raw, found, err := o.take("messages")
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, core.Errorf(core.CodeInvalid, "%s is required", path)
	}
	items, err := list(path, raw)
	if err != nil {
		return nil, err
	}
	messages := make([]core.Message, 0, len(items))
	for i, item := range items {
		m, err := message(fmt.Sprintf("%s[%d]", path, i), item)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// message decodes {role, content, id?}. What its values must be is checked with
// the submission.
func message(at string, raw json.RawMessage) (core.Message, error) {
	var m core.Message
	o, err := asObject(at, raw)
	if err != nil {
		return m, err
	}
	id, err := o.text("id")
	if err != nil {
		return m, err
	}
	role, err := o.text("role")
	if err != nil {
		return m, err
	}
	path, content, found, err := o.take("content")
	if err != nil {
		return m, err
	}
	if !found {
		return m, core.Errorf(core.CodeInvalid, "%s is required", path)
	}
	blocks, err := blocks(path, content)
	if err != nil {
		return m, err
	}
	return core.Message{ID: id, Role: core.Role(role), Content: blocks}, o.end()
}

// blocks decodes content: a string, or a list of {type: "text", text}.
func blocks(at string, raw json.RawMessage) ([]core.Block, error) {
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "%s: %v", at, err)
		}
		return []core.Block{{Type: core.BlockText, Text: text}}, nil
	}
	items, err := list(at, raw)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s must be a string or a list of text blocks", at)
	}
	var blocks []core.Block
	for i, item := range items {
		o, err := asObject(fmt.Sprintf("%s[%d]", at, i), item)
		if err != nil {
			return nil, err
		}
		kind, err := o.text("type")
		if err != nil {
			return nil, err
		}
		if kind != string(core.BlockText) {
			return nil, core.Errorf(core.CodeUnsupported, "%s: type %q is not supported, only text is", o.at, core.Excerpt(kind))
		}
		text, err := o.text("text")
		if err != nil {
			return nil, err
		}
		if err := o.end(); err != nil {
			return nil, err
		}
		blocks = append(blocks, core.Block{Type: core.BlockText, Text: text})
	}
	return slices.Clip(blocks), nil
}

func list(at string, raw json.RawMessage) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s must be a list", at)
	}
	return items, nil
}

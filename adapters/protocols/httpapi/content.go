package httpapi

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// messages are the input's messages in the form of package core. Their values are checked
// with the submission.
func messages(said []inputMessage) []core.Message {
	all := make([]core.Message, 0, len(said))
	for _, m := range said {
		content := make([]core.Block, len(m.Content))
		for i, b := range m.Content {
			content[i] = b.block()
		}
		all = append(all, core.Message{ID: string(m.ID), Role: core.Role(m.Role), Content: content})
	}
	return all
}

// UnmarshalStrict is for [strict.Value]: a text is like one block of it.
func (c *inputContent) UnmarshalStrict(v strict.Value) error {
	switch v.First() {
	case '"':
		b := inputBlock{Type: string(core.BlockText), Text: new(string)}
		*c = inputContent{b}
		return v.Decode(b.Text)
	case '[':
		return v.Decode((*[]inputBlock)(c))
	}
	return v.Want("a string or a list of text and file blocks")
}

// UnmarshalStrict is for [strict.Value]: which keys a block may have depends on its
// type, and one of a type that is not supported may have any.
func (b *inputBlock) UnmarshalStrict(v strict.Value) error {
	type plain inputBlock
	if err := v.Decode((*plain)(b)); err != nil {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(v.Raw(), &kind) == nil && !supported(kind.Type) {
			return errBlockType(kind.Type)
		}
		return err
	}
	switch {
	case !supported(b.Type):
		return errBlockType(b.Type)
	case b.Type == string(core.BlockFile) && b.Text != nil:
		return strict.Errorf("is a file, which has no text; allowed are type, media_type, data, url, filename")
	case b.Type == string(core.BlockText) && (b.MediaType != nil || b.Data != nil || b.URL != nil || b.Filename != nil):
		return strict.Errorf("is a text, which has no file; allowed are type, text")
	}
	return nil
}

func supported(kind string) bool {
	return kind == string(core.BlockText) || kind == string(core.BlockFile)
}

func errBlockType(kind string) error {
	return core.Errorf(core.CodeUnsupported, "type %q is not supported, allowed are text and file", core.Excerpt(kind))
}

// block is a block as the core has it.
func (b inputBlock) block() core.Block {
	return core.Block{
		Type: core.BlockType(b.Type), Text: given(b.Text), MediaType: given(b.MediaType), Data: b.Data, URL: given(b.URL), Filename: given(b.Filename),
	}
}

// given is a text that may not be there.
func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// UnmarshalStrict is for [strict.Value].
func (t *titleText) UnmarshalStrict(v strict.Value) error {
	t.text = new(string)
	switch v.First() {
	case 'n':
		return nil
	case '"':
		if err := v.Decode(t.text); err != nil || *t.text != "" {
			return err
		}
		return strict.Errorf("is empty; null removes a title")
	}
	return v.Want("a string, or null")
}

// UnmarshalStrict is for [strict.Value].
func (m *metadataObject) UnmarshalStrict(v strict.Value) error {
	if first := v.First(); first != '{' && first != 'n' {
		return v.Want("an object, or null")
	}
	return v.Decode((*json.RawMessage)(m))
}

// UnmarshalStrict is for [strict.Value]. The arguments must not have a key twice.
func (a *argumentsObject) UnmarshalStrict(v strict.Value) error {
	if v.First() != '{' {
		return v.Want("an object")
	}
	var members map[string]json.RawMessage
	if err := v.Decode(&members); err != nil {
		return err
	}
	return v.Decode((*json.RawMessage)(a))
}

// UnmarshalStrict is for [strict.Value]. An object must not have a key twice, which
// its text may be.
func (p *anyJSON) UnmarshalStrict(v strict.Value) error {
	if v.First() == '{' {
		var members map[string]json.RawMessage
		if err := v.Decode(&members); err != nil {
			return err
		}
		var text string
		if json.Unmarshal(members["text"], &text) == nil && members["text"][0] == '"' { // else it calls something else its text
			p.text = &text
		}
	}
	return v.Decode(&p.raw)
}

// said is what a person would have said: the object's text, else the JSON itself.
func (p *anyJSON) said() string {
	if p.text != nil {
		return *p.text
	}
	return string(p.raw)
}

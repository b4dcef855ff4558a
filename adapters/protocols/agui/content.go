package agui

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// part is one part of a message's content: text, or image, audio, video and document,
// which have a source. Clients before 1.0 also send binary, which has its fields itself.
type part struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Source   *source   `json:"source,omitempty"`
	Metadata *metadata `json:"metadata,omitempty"`

	MimeType string `json:"mimeType,omitempty"` // of binary, as the others
	Data     string `json:"data,omitempty"`
	URL      string `json:"url,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// source is the place of a part's bytes.
type source struct {
	Type     string `json:"type"` // data, whose value is base64, or url
	Value    string `json:"value"`
	MimeType string `json:"mimeType,omitempty"`
}

// unsaid are the media types of parts that name none.
var unsaid = map[string]string{"image": "image/*", "audio": "audio/*", "video": "video/*", "document": "application/octet-stream"}

// metadata is what the protocol leaves to us.
type metadata struct {
	Filename string `json:"filename,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler: what another server, or the application,
// keeps there may be of any form.
func (m *metadata) UnmarshalJSON(raw []byte) error {
	type fields metadata
	_ = json.Unmarshal(raw, (*fields)(m))
	return nil
}

// blocks is the content of a message: a string, or a list of parts.
func (m inMessage) blocks(at string) ([]core.Block, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []core.Block{{Type: core.BlockText, Text: text}}, nil
	}
	var parts []part
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s.content must be a string or a list of parts", at)
	}
	var all []core.Block
	for i, p := range parts {
		b, err := p.block(fmt.Sprintf("%s.content[%d]", at, i))
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && b.Type == core.BlockText && all[n-1].Type == core.BlockText {
			all[n-1].Text += b.Text
			continue
		}
		all = append(all, b)
	}
	return all, nil
}

// hasFiles reports whether the content is a list of parts with a file.
func (m inMessage) hasFiles() bool {
	content, err := m.blocks("content")
	return err == nil && slices.ContainsFunc(content, func(b core.Block) bool { return b.Type == core.BlockFile })
}

// block converts a part; at names it in errors.
func (p part) block(at string) (core.Block, error) {
	b := core.Block{Type: core.BlockFile, MediaType: p.MimeType, Filename: p.Filename, URL: p.URL}
	encoded := p.Data
	switch p.Type {
	case "text":
		if p.Text == nil {
			return b, core.Errorf(core.CodeInvalid, "%s has no text", at)
		}
		return core.Block{Type: core.BlockText, Text: *p.Text}, nil
	case "binary":
	case "image", "audio", "video", "document":
		switch {
		case p.Source == nil:
			return b, core.Errorf(core.CodeInvalid, "%s has no source", at)
		case p.Source.Type == "data":
			encoded, b.URL = p.Source.Value, ""
		case p.Source.Type == "url":
			encoded, b.URL = "", p.Source.Value
		default:
			return b, core.Errorf(core.CodeUnsupported, "%s.source: type %q is not supported, allowed are data and url", at, core.Excerpt(p.Source.Type))
		}
		b.MediaType = p.Source.MimeType
		if b.MediaType == "" { // which a URL need not say
			b.MediaType = unsaid[p.Type]
		}
		if p.Metadata != nil {
			b.Filename = p.Metadata.Filename
		}
	default:
		return b, core.Errorf(core.CodeUnsupported, "%s: type %q is not supported, allowed are text, image, audio, video, document and binary", at, core.Excerpt(p.Type))
	}
	if encoded != "" {
		var err error
		if b.Data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return b, core.Errorf(core.CodeInvalid, "%s has data that is not base64", at)
		}
	}
	return b, b.CheckFile(at)
}

// userContent is what a client keeps of a user message: a text, or parts when it has
// files.
func userContent(m core.Message) any {
	if !slices.ContainsFunc(m.Content, func(b core.Block) bool { return b.Type == core.BlockFile }) {
		text := m.Text()
		return &text
	}
	var parts []part
	for _, b := range m.Content {
		switch b.Type {
		case core.BlockText:
			parts = append(parts, part{Type: "text", Text: &b.Text})
		case core.BlockFile:
			parts = append(parts, filePart(b))
		}
	}
	return parts
}

func filePart(b core.Block) part {
	p := part{Type: "document", Source: &source{Type: "data", Value: base64.StdEncoding.EncodeToString(b.Data), MimeType: b.MediaType}}
	if b.URL != "" {
		p.Source.Type, p.Source.Value = "url", b.URL
	}
	if kind, _, _ := strings.Cut(b.MediaType, "/"); slices.Contains([]string{"image", "audio", "video"}, kind) {
		p.Type = kind
	}
	if b.Filename != "" {
		p.Metadata = &metadata{Filename: b.Filename}
	}
	return p
}

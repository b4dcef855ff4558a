package openai

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The parts of a user message that has files, as the API's reference has them.
type (
	chatPart struct {
		Type     string     `json:"type"`
		Text     string     `json:"text,omitempty"`
		Image    any        `json:"image_url,omitempty"` // a chatImage, or its URL
		Audio    *chatAudio `json:"input_audio,omitempty"`
		File     *chatFile  `json:"file,omitempty"`
		Document string     `json:"document_url,omitempty"`
		Name     string     `json:"document_name,omitempty"`
	}
	chatImage struct {
		URL string `json:"url"`
	}
	chatAudio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	}
	chatFile struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	}
)

// encodeParts returns the parts of content that has files, nil when it has none: then
// it goes out as one text, which every server takes. A file that has no form in this
// API is a *model.Error of KindInvalid.
func (k kin) encodeParts(content []core.Block) ([]chatPart, error) {
	if !slices.ContainsFunc(content, func(b core.Block) bool { return b.Type == core.BlockFile }) {
		return nil, nil
	}
	var parts []chatPart
	for _, b := range content {
		switch b.Type {
		case core.BlockText:
			if b.Text == "" {
				continue // a part without its text is refused
			}
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case core.BlockFile:
			part, err := k.encodeFile(b)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// resultFiles are the files of the results of a turn. A result is a text in this API, so
// that they go out in a user's message after all results of the turn.
type resultFiles struct {
	kin     kin
	request *model.Request
	blocks  []core.Block
}

// take returns the text of a result, and keeps its files.
func (f *resultFiles) take(r *core.ToolResult) *string {
	text, files := wire.Split(wire.ResultContent(f.request, r, func(b core.Block) error {
		_, err := f.kin.encodeFile(b)
		return err
	}))
	if len(files) > 0 {
		f.blocks = append(append(f.blocks, core.Block{Type: core.BlockText, Text: wire.FilesOf(r)}), files...)
		text = cmp.Or(text, wire.FilesFollow)
	}
	return &text
}

// follow adds the message with the files of the results so far, if there are any.
func (c *chatRequest) follow(f *resultFiles, k kin) error {
	if len(f.blocks) == 0 {
		return nil
	}
	parts, err := k.encodeParts(f.blocks)
	if err != nil {
		return err
	}
	next := chatMessage{Role: "user", Content: parts}
	if k.strict {
		c.order(&next)
	}
	c.Messages, f.blocks = append(c.Messages, next), nil
	return nil
}

// audioFormats are the sounds that the API takes.
var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
}

// encodeFile is one file. Text goes out as text, under its name: few servers take files.
func (k kin) encodeFile(b core.Block) (part chatPart, err error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return part, invalid(fmt.Sprintf("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType)))
	}
	encoded := base64.StdEncoding.EncodeToString(b.Data)
	address := cmp.Or(b.URL, "data:"+kind+";base64,"+encoded)
	format, sound := audioFormats[kind]
	switch {
	case strings.HasPrefix(kind, "image/") && k.documents:
		return chatPart{Type: "image_url", Image: address}, nil
	case strings.HasPrefix(kind, "image/"):
		return chatPart{Type: "image_url", Image: chatImage{address}}, nil
	case kind == "application/pdf" && k.documents:
		return chatPart{Type: "document_url", Document: address, Name: b.Filename}, nil
	case b.URL != "":
		urls := "images only"
		if k.documents {
			urls = "images and PDF only"
		}
		return part, invalid(fmt.Sprintf("a file of media type %s by its URL is not supported by this API, which accepts URLs of %s", kind, urls))
	case sound:
		return chatPart{Type: "input_audio", Audio: &chatAudio{encoded, format}}, nil
	case strings.HasPrefix(kind, "text/"), kind == "application/json":
		return chatPart{Type: "text", Text: cmp.Or(b.Filename, "text") + ":\n" + string(b.Data)}, nil
	case kind == "application/pdf":
		return chatPart{Type: "file", File: &chatFile{cmp.Or(b.Filename, "document.pdf"), address}}, nil
	}
	return part, invalid(fmt.Sprintf("a file of media type %s is not supported by this API, which accepts images, PDF, text, WAV and MP3", kind))
}

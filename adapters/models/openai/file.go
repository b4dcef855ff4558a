package openai

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The parts of a user message that has files, as the API's reference has them.
type (
	chatPart struct {
		Type  string     `json:"type"`
		Text  string     `json:"text,omitempty"`
		Image *chatImage `json:"image_url,omitempty"`
		Audio *chatAudio `json:"input_audio,omitempty"`
		File  *chatFile  `json:"file,omitempty"`
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
func encodeParts(content []core.Block) ([]chatPart, error) {
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
			part, err := encodeFile(b)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// audioFormats are the sounds that the API takes.
var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
}

// encodeFile is one file. Text goes out as text, under its name: few servers take files.
func encodeFile(b core.Block) (part chatPart, err error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return part, invalid(fmt.Sprintf("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType)))
	}
	encoded := base64.StdEncoding.EncodeToString(b.Data)
	format, sound := audioFormats[kind]
	switch {
	case strings.HasPrefix(kind, "image/"):
		address := b.URL
		if address == "" {
			address = "data:" + kind + ";base64," + encoded
		}
		return chatPart{Type: "image_url", Image: &chatImage{address}}, nil
	case b.URL != "":
		return part, invalid(fmt.Sprintf("a file of media type %s by its URL is not supported by this API, which accepts URLs of images only", kind))
	case sound:
		return chatPart{Type: "input_audio", Audio: &chatAudio{encoded, format}}, nil
	case strings.HasPrefix(kind, "text/"), kind == "application/json":
		return chatPart{Type: "text", Text: cmp.Or(b.Filename, "text") + ":\n" + string(b.Data)}, nil
	case kind == "application/pdf":
		return chatPart{Type: "file", File: &chatFile{cmp.Or(b.Filename, "document.pdf"), "data:" + kind + ";base64," + encoded}}, nil
	}
	return part, invalid(fmt.Sprintf("a file of media type %s is not supported by this API, which accepts images, PDF, text, WAV and MP3", kind))
}

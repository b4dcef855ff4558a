package gemini

import (
	"cmp"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// encodeFile is one file: text under its name, anything else as its bytes, or as its
// address, from which the provider fetches it. A kind that no model reads is a
// *model.Error of KindInvalid.
func encodeFile(b core.Block) (part, error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return part{}, invalid(fmt.Sprintf("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType)))
	}
	isText := strings.HasPrefix(kind, "text/") || kind == "application/json"
	family, _, _ := strings.Cut(kind, "/")
	switch {
	case isText && b.URL == "" && utf8.Valid(b.Data):
		text := cmp.Or(b.Filename, "text") + ":\n" + string(b.Data)
		return part{Text: &text}, nil
	case !isText && family != "image" && family != "audio" && family != "video" && kind != "application/pdf":
		return part{}, invalid(fmt.Sprintf("a file of media type %s is not supported by this API, which accepts images, PDF, sound, video and text", kind))
	case b.URL != "":
		return part{FileData: &fileData{MIMEType: kind, FileURI: b.URL}}, nil
	}
	return part{InlineData: &blob{MIMEType: kind, Data: b.Data}}, nil
}

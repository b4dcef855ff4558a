package anthropic

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// imageTypes are the images whose bytes the API takes.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// encodeFile is one file: an image, a PDF or text. One that has no form in this API is a
// *model.Error of KindInvalid.
func encodeFile(b core.Block) (*block, error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return nil, invalid(fmt.Sprintf("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType)))
	}
	switch {
	case strings.HasPrefix(kind, "image/") && b.URL != "":
		return &block{Type: "image", Source: urlSource{"url", b.URL}}, nil
	case slices.Contains(imageTypes, kind):
		return &block{Type: "image", Source: bytesSource{"base64", kind, b.Data}}, nil
	case kind == "application/pdf" && b.URL != "":
		return &block{Type: "document", Source: urlSource{"url", b.URL}, Title: b.Filename}, nil
	case kind == "application/pdf":
		return &block{Type: "document", Source: bytesSource{"base64", kind, b.Data}, Title: b.Filename}, nil
	case b.URL != "":
		return nil, invalid(fmt.Sprintf("a file of media type %s by its URL is not supported by this API, which accepts URLs of images and PDF only", kind))
	case strings.HasPrefix(kind, "text/"), kind == "application/json":
		return &block{Type: "document", Source: textSource{"text", "text/plain", string(b.Data)}, Title: b.Filename}, nil
	}
	return nil, invalid(fmt.Sprintf("a file of media type %s is not supported by this API, which accepts JPEG, PNG, GIF, WebP, PDF and text", kind))
}

package acp

import (
	"cmp"
	"encoding/base64"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// fileContent are the files of a result: images and sound as themselves, others as links or
// resources.
func fileContent(blocks []core.Block) (content []sdk.ToolCallContent) {
	for _, b := range blocks {
		if b.Type == core.BlockFile {
			content = append(content, sdk.ToolContent(fileBlock(b)))
		}
	}
	return content
}

func fileBlock(b core.Block) sdk.ContentBlock {
	data := base64.StdEncoding.EncodeToString(b.Data)
	kind, _, _ := strings.Cut(b.MediaType, "/")
	switch {
	case b.URL != "":
		return sdk.ResourceLinkBlock(cmp.Or(b.Filename, b.URL), b.URL)
	case kind == "image":
		return sdk.ImageBlock(data, b.MediaType)
	case kind == "audio":
		return sdk.AudioBlock(data, b.MediaType)
	}
	return sdk.ResourceBlock(sdk.EmbeddedResourceResource{BlobResourceContents: &sdk.BlobResourceContents{
		Blob: data, MimeType: &b.MediaType, Uri: "file:///" + cmp.Or(b.Filename, "file"),
	}})
}

// sources are the pages that a text cites, each once: links after it.
func sources(annotations []core.Annotation) (updates []update) {
	seen := map[string]bool{}
	for _, a := range annotations {
		if protocol.Link(a.URL) && !seen[a.URL] {
			seen[a.URL] = true
			updates = append(updates, update{Kind: agentChunk, Content: sdk.ResourceLinkBlock(cmp.Or(a.Title, a.URL), a.URL)})
		}
	}
	return updates
}

package mcp

import (
	"cmp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// fileContent are the texts and files of the result of a tool by itself, after its data.
func fileContent(blocks []core.Block) (content []sdk.Content) {
	for _, b := range blocks {
		kind, _, _ := strings.Cut(b.MediaType, "/")
		switch {
		case b.Type == core.BlockText && b.Text != "":
			content = append(content, &sdk.TextContent{Text: b.Text})
		case b.Type != core.BlockFile:
		case b.URL != "":
			content = append(content, &sdk.ResourceLink{URI: b.URL, Name: cmp.Or(b.Filename, b.URL), MIMEType: b.MediaType})
		case kind == "image":
			content = append(content, &sdk.ImageContent{Data: b.Data, MIMEType: b.MediaType})
		case kind == "audio":
			content = append(content, &sdk.AudioContent{Data: b.Data, MIMEType: b.MediaType})
		default:
			content = append(content, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///" + cmp.Or(b.Filename, "file"), MIMEType: b.MediaType, Blob: b.Data}})
		}
	}
	return content
}

// sources are links to the pages that a response cites, each once.
func sources(m *core.Message) (content []sdk.Content) {
	seen := map[string]bool{}
	for i := range m.Content {
		for _, a := range m.Content[i].Annotations {
			if protocol.Link(a.URL) && !seen[a.URL] {
				seen[a.URL] = true
				content = append(content, &sdk.ResourceLink{URI: a.URL, Name: cmp.Or(a.Title, a.URL)})
			}
		}
	}
	return content
}

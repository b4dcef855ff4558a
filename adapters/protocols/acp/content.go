package acp

import (
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/core"
)

// message makes a prompt the user's message. A message here is text: a link becomes its
// Markdown, and the text of a resource is between tags that name it.
func message(prompt []sdk.ContentBlock) (core.Message, error) {
	m := core.Message{Role: core.RoleUser}
	for i, b := range prompt {
		text, err := blockText(b)
		if err != nil {
			return m, core.Errorf(core.CodeUnsupported, "prompt[%d]: %w", i, err)
		}
		m.Content = append(m.Content, core.Block{Type: core.BlockText, Text: text})
	}
	if core.Blank(m.Text()) {
		return m, core.Errorf(core.CodeInvalid, "prompt has no text")
	}
	return m, nil
}

func blockText(b sdk.ContentBlock) (string, error) {
	switch {
	case b.Text != nil:
		return b.Text.Text, nil
	case b.ResourceLink != nil:
		return "[" + b.ResourceLink.Name + "](" + b.ResourceLink.Uri + ")", nil
	case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
		r := b.Resource.Resource.TextResourceContents
		return "\n<resource uri=\"" + attribute.Replace(r.Uri) + "\">\n" + r.Text + "\n</resource>\n", nil
	case b.Resource != nil:
		return "", core.Errorf(core.CodeUnsupported, "a binary resource is not supported, allowed are text, resource_link and resources that are text")
	}
	kind := "a block of this type"
	if b.Image != nil {
		kind = "an image"
	} else if b.Audio != nil {
		kind = "audio"
	}
	return "", core.Errorf(core.CodeUnsupported, "%s is not supported, allowed are text, resource_link and resource", kind)
}

var attribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

package wire

import (
	"fmt"
	"mime"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// ResultContent returns what a model reads of a result, in order: a text block of its
// message or data, and its content. encodes returns the error of a file that has no form in
// the adapter's protocol. Such a file, and one that the model does not accept, is replaced by
// a text that names its type: a request with it would fail, and so would all later ones of
// the thread.
func ResultContent(request *model.Request, r *core.ToolResult, encodes func(core.Block) error) []core.Block {
	var content []core.Block
	if said := (core.ToolResult{Data: r.Data, Message: r.Message}).Text(); said != "" {
		content = append(content, core.Block{Type: core.BlockText, Text: said})
	}
	for _, b := range r.Content {
		if b.Type == core.BlockFile && (!request.Accepts(b.MediaType) || encodes(b) != nil) {
			b = core.Block{Type: core.BlockText, Text: omitted(b)}
		}
		content = append(content, b)
	}
	return content
}

// omitted is the text in place of a file.
func omitted(b core.Block) string {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		kind = core.Excerpt(b.MediaType)
	}
	return fmt.Sprintf("[Omitted: a file of type %s, which this model does not accept.]", kind)
}

// HasFile reports whether there is a file among blocks.
func HasFile(content []core.Block) bool {
	for i := range content {
		if content[i].Type == core.BlockFile {
			return true
		}
	}
	return false
}

// Split returns the texts of blocks as one, with a line end between them, and the files.
func Split(content []core.Block) (text string, files []core.Block) {
	for _, b := range content {
		switch {
		case b.Type == core.BlockFile:
			files = append(files, b)
		case text == "":
			text = b.Text
		case b.Text != "":
			text += "\n" + b.Text
		}
	}
	return text, files
}

// FilesFollow is the text of a result of files alone, in a protocol that takes them after
// the results.
const FilesFollow = "(The files of this result follow.)"

// FilesOf is the text before files of a result that a protocol takes in a message after
// the results alone.
func FilesOf(r *core.ToolResult) string {
	return fmt.Sprintf("Files of the result of %s:", MadePlain(r.Name, maxShownName))
}

const maxShownName = 64

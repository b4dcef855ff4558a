package agui

import "github.com/reveille-run/reveille/core"

// Messages have no place for citations, and clients send their whole history with each
// request: the files of results would soon exceed the limit of a body. So both are
// sent next to the messages: live and after a snapshot as custom events, in a list as lists.

// extras are the citations and files of messages, which are no part of them.
type extras struct {
	Citations []citations   `json:"citations,omitempty"`
	Files     []resultFiles `json:"files,omitempty"`
}

// citations is the value of a custom event: the citations of a text of a message. Offsets are
// bytes of that text, see core.Annotation.
type citations struct {
	MessageID   string            `json:"messageId"`
	Block       int               `json:"block"` // place of the text in the message, with its reasoning
	Annotations []core.Annotation `json:"annotations"`
}

// resultFiles is the value of a custom event: the files of a result, in the form of files in
// messages.
type resultFiles struct {
	MessageID  string `json:"messageId"`
	ToolCallID string `json:"toolCallId"`
	Files      []part `json:"files"`
}

func fileParts(content []core.Block) (files []part) {
	for _, b := range content {
		if b.Type == core.BlockFile {
			files = append(files, filePart(b))
		}
	}
	return files
}

// extrasOf returns the extras of messages, in their order.
func extrasOf(messages []core.Message) (b extras) {
	for i := range messages {
		m := &messages[i]
		for at, block := range m.Content {
			if len(block.Annotations) > 0 {
				b.Citations = append(b.Citations, citations{m.ID, at, block.Annotations})
			}
		}
		if r := m.ToolResult; r != nil {
			if files := fileParts(r.Content); len(files) > 0 {
				b.Files = append(b.Files, resultFiles{m.ID, r.CallID, files})
			}
		}
	}
	return b
}

// showExtras shows the extras of the messages of a snapshot.
func (e *encoder) showExtras(b extras) {
	for _, c := range b.Citations {
		e.showCitations(c)
	}
	for _, f := range b.Files {
		e.showFiles(f)
	}
}

func (e *encoder) showCitations(c citations) { e.custom("reveille.citations", c) }

func (e *encoder) showFiles(f resultFiles) {
	if len(f.Files) > 0 {
		e.custom("reveille.result_files", f)
	}
}

package window

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
)

// A result is large from largeResult bytes on of what the model reads of it. Its
// reference shows at most previewBytes and previewLines of them.
const (
	largeResult  = 8 << 10
	previewBytes = 1600
	previewLines = 24
	// referenceBytes is what a reference has at most, but for huge sequences, and omittedBytes
	// the line about files.
	referenceBytes = previewBytes + 160
	omittedBytes   = 80
)

// large reports whether a message is a result that a reference may replace.
func large(m *core.Message) bool {
	return m.ToolResult != nil && resultSize(m.ToolResult) >= largeResult
}

// resultSize is the size of [core.ToolResult.Text], with files as texts of their cost.
func resultSize(r *core.ToolResult) int {
	size := len(r.Message)
	if size == 0 {
		size = len(r.Data)
	}
	texts, files := sizeOfBlocks(r.Content)
	return size + texts + files*1000/perByte
}

// reference is a large result as the model reads it where it is shortened. The same result
// gives the same bytes, in every request. It has no files.
func reference(m *core.Message, seq uint64, reads bool) core.Message {
	text := m.ToolResult.Text()
	shown := preview(text)
	short := *m.ToolResult
	short.Data, short.Content = nil, nil
	short.Message = shown
	if len(shown) < len(text) {
		short.Message += fmt.Sprintf("\n\n[Shortened: these are the first %d of %d bytes.", len(shown), len(text))
		if reads {
			short.Message += fmt.Sprintf(" %s with result %d and offset %d returns what follows.", toolcall.ReadResult, seq, len(shown))
		}
		short.Message += "]"
	}
	if files := filesOf(m.ToolResult); len(files) > 0 {
		if short.Message != "" {
			short.Message += "\n\n"
		}
		short.Message += fmt.Sprintf("[Omitted: %d of its files.", len(files))
		if reads {
			short.Message += fmt.Sprintf(" %s with result %d returns them.", toolcall.ReadResult, seq)
		}
		short.Message += "]"
	}
	after := *m
	after.ToolResult = &short
	return after
}

// filesOf are the files of a result.
func filesOf(r *core.ToolResult) (files []core.Block) {
	for _, b := range r.Content {
		if b.Type == core.BlockFile {
			files = append(files, b)
		}
	}
	return files
}

// preview is the beginning of a text, whole characters of it.
func preview(text string) string {
	text = text[:wholeFrom(text, min(previewBytes, len(text)))]
	for i, lines := 0, 0; ; lines++ {
		next := strings.IndexByte(text[i:], '\n')
		if next < 0 {
			return text
		}
		if i += next + 1; lines == previewLines-1 {
			return text[:i-1]
		}
	}
}

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
	// referenceBytes is what a reference has at most, but for huge sequences.
	referenceBytes = previewBytes + 160
)

// large reports whether a message is a result that a reference may replace.
func large(m *core.Message) bool {
	return m.ToolResult != nil && textSize(m.ToolResult) >= largeResult
}

// textSize is the size of [core.ToolResult.Text].
func textSize(r *core.ToolResult) int {
	if r.Message != "" {
		return len(r.Message)
	}
	return len(r.Data)
}

// reference is a large result as the model reads it where it is shortened. The same result
// gives the same bytes, in every request.
func reference(m *core.Message, seq uint64, reads bool) core.Message {
	text := m.ToolResult.Text()
	shown := preview(text)
	short := *m.ToolResult
	short.Data = nil
	short.Message = fmt.Sprintf("%s\n\n[Shortened: these are the first %d of %d bytes.", shown, len(shown), len(text))
	if reads {
		short.Message += fmt.Sprintf(" %s with result %d and offset %d returns what follows.", toolcall.ReadResult, seq, len(shown))
	}
	short.Message += "]"
	after := *m
	after.ToolResult = &short
	return after
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

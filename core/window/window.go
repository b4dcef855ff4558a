package window

import (
	"strings"

	"github.com/reveille-run/reveille/core"
)

// DefaultBudget is the window of an agent that says nothing, in tokens.
const DefaultBudget = 32_000

// Tokens estimates what a message costs: a token for every four bytes, and a
// few for its frame. It needs no tokenizer and errs by less than half for what
// people, models and tools write. A file that is no text is a guess.
func Tokens(m core.Message) int { return tokens(&m) }

// tokens takes a pointer: a message is large to copy, and a window measures many.
func tokens(m *core.Message) int {
	const frame, bytesPerToken = 8, 4
	size, files := 0, 0
	for i := range m.Content {
		b := &m.Content[i]
		size += len(b.Text) + len(b.Echo)
		if b.Type == core.BlockFile {
			files += fileTokens(b)
		}
	}
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments)
	}
	if r := m.ToolResult; r != nil {
		size += len(r.Data) + len(r.Message)
	}
	return frame + files + size/bytesPerToken
}

// fileTokens estimates a file: text as text, an image as a large one, whatever its
// bytes, and of another document as much again for each 50 KB, a page or two.
func fileTokens(b *core.Block) int {
	const image, perBytes = 1600, 50_000
	switch kind, _, _ := strings.Cut(b.MediaType, "/"); kind {
	case "text":
		return len(b.Data) / 4
	case "image":
		return image
	}
	return image * (1 + len(b.Data)/perBytes)
}

// Newest is the window of the newest turns, up to a number of tokens; 0 or less
// is [DefaultBudget]. The newest turn is always in it, however large it is.
type Newest int

// Tokens implements run.Window.
func (n Newest) Tokens(m core.Message) int { return Tokens(m) }

// Cut returns the index of the first message of the window: 0 when all of them
// fit.
func (n Newest) Cut(messages []core.Message) int {
	measure, first := n.measure(), len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		fits, room := measure(&messages[i])
		if fits {
			first = i
		}
		if room == 0 {
			break
		}
	}
	return first
}

// Measure returns a function that takes messages from the newest to the oldest.
// fits says that the window may begin with the message; room estimates how many
// older ones belong to it, if they are as large as those so far, and is 0 when
// none does.
func (n Newest) Measure() func(m core.Message) (fits bool, room int) {
	measure := n.measure()
	return func(m core.Message) (fits bool, room int) { return measure(&m) }
}

func (n Newest) measure() func(m *core.Message) (fits bool, room int) {
	budget := int(n)
	if budget <= 0 {
		budget = DefaultBudget
	}
	sum, messages, begun := 0, 0, false
	return func(m *core.Message) (fits bool, room int) {
		sum += tokens(m)
		messages++
		room = max(1, (budget-sum)*messages/sum)
		if m.Role == core.RoleTool { // it goes with the turn before it
			return false, room
		}
		if begun && sum > budget {
			return false, 0
		}
		begun = true
		if sum >= budget {
			return true, 0
		}
		return true, room
	}
}

package window

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// DefaultBudget is the window of an agent that says nothing, in tokens.
const DefaultBudget = 32_000

// Tokens estimates the cost of a message: a token for every four bytes, and a few for its
// frame. It needs no tokenizer and errs by less than half for the texts of people, models
// and tools. For a file without text it guesses.
func Tokens(m core.Message) int { return tokens(&m, perByte) }

// perByte is the cost of a byte if nothing better is known, in thousandths of a token;
// frame is the additional cost of a message, in tokens.
const (
	perByte = 250
	frame   = 8
)

// tokens takes a pointer: a message is large to copy, and a window measures many. A
// byte costs so many thousandths of a token.
func tokens(m *core.Message, perByte int) int {
	size, files := sizeOf(m)
	return frame + files + size*perByte/1000
}

// sizeOf returns the bytes of a message that a model reads, and what its files cost,
// in tokens.
func sizeOf(m *core.Message) (size, files int) {
	size, files = sizeOfBlocks(m.Content)
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments) + len(c.Echo)
	}
	if r := m.ToolResult; r != nil {
		texts, more := sizeOfBlocks(r.Content)
		size, files = size+len(r.Data)+len(r.Message)+texts, files+more
	}
	return size, files
}

func sizeOfBlocks(content []core.Block) (size, files int) {
	for i := range content {
		b := &content[i]
		size += len(b.Text) + len(b.Echo)
		if b.Type == core.BlockFile {
			files += fileTokens(b)
		}
	}
	return size, files
}

// fileTokens estimates a file: text as text, an image as a large one, for any number of
// bytes, and another document as much again for each 50 KB, a page or two.
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

// Measure returns a function that takes messages from the newest to the oldest. fits
// reports that the window may start with the message; room estimates how many older ones
// belong to it, if they are as large as those so far, and is 0 when none does.
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
		sum += tokens(m, perByte)
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

// Reckon estimates the cost of a request without its messages: system prompt and tools. A
// byte costs so many thousandths of a token; 0: 250.
func Reckon(r *model.Request, perByte int) int {
	const tool = 10 // the frame of one
	size := len(r.System)
	for i := range r.Tools {
		size += len(r.Tools[i].Name) + len(r.Tools[i].Description) + len(r.Tools[i].Parameters)
	}
	if r.ResponseFormat != nil {
		size += len(r.ResponseFormat.Schema)
	}
	return size*orDefault(perByte)/1000 + tool*len(r.Tools)
}

// ReckonAll estimates what messages cost.
func ReckonAll(messages []core.Message, perByte int) (sum int) {
	for i := range messages {
		sum += tokens(&messages[i], orDefault(perByte))
	}
	return sum
}

func orDefault(n int) int {
	if n > 0 {
		return n
	}
	return perByte
}

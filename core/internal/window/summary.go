package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// SummaryMessage is a summary up to a sequence as the model reads it. The same summary
// gives the same bytes in every request. It has the role of a person: what users and
// tools once said gets no more weight by being summed up, and providers refuse a
// conversation that a model begins.
func SummaryMessage(upTo uint64, text string) core.Message {
	return core.Message{
		ID: "summary." + strconv.FormatUint(upTo, 10), Role: core.RoleUser,
		Content: []core.Block{{Type: core.BlockText, Text: "<conversation-summary>\n" + text + "\n</conversation-summary>"}},
	}
}

// Target returns the newest closed turn of a history that at least keep messages follow:
// the sequence of its last message, and how many messages it ends. A turn is closed when
// each of its calls has its result. false: no such turn.
func Target(h History, keep int) (upTo uint64, messages int, ok bool) {
	for i := len(h.Messages) - 1 - max(keep, 0); i >= 0; i-- {
		mended := i+1 < len(h.Messages) && h.Messages[i+1].Repair // the note belongs to it
		if closes(h.Messages, i) && !mended {
			return h.sequence(i), i + 1, true
		}
	}
	return 0, 0, false
}

// closes reports whether a turn is closed with a message: a turn without calls, or the
// last result of one with them.
func closes(messages []core.Message, i int) bool {
	turn := i
	for turn > 0 && messages[turn].Role == core.RoleTool {
		turn--
	}
	m := &messages[turn]
	return m.Role == core.RoleAssistant && len(m.ToolCalls) == i-turn
}

// How much of a message a transcript has: of arguments and results, which are larger
// than what they say, less than of what people and models wrote.
const (
	spokenBytes  = 24 << 10
	carriedBytes = 2 << 10
)

// Transcript is a conversation as a text that a model is to summarize: a paragraph for each
// message, and of long ones the start. Context messages and reasoning are omitted. If a
// conversation has more than so many bytes, it has the newest messages, and a line before
// them tells that others are missing; from is the sequence of its first message, 0 for all.
// It is only empty if the conversation has no words.
func Transcript(h History, most int) (text string, from uint64) {
	paragraphs, size := make([]string, 0, len(h.Messages)), 0
	for i := len(h.Messages) - 1; i >= 0; i-- {
		p := paragraph(&h.Messages[i])
		if size += len(p) + 2; size > most && len(paragraphs) > 0 {
			from = h.sequence(i + 1)
			break
		}
		if p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	if from > 0 { // how many is unknown to a reader of the history's end
		paragraphs = append(paragraphs, "[older messages are left out]")
	}
	slices.Reverse(paragraphs)
	return strings.Join(paragraphs, "\n\n"), from
}

// paragraph is what a transcript has of a message; "": nothing.
func paragraph(m *core.Message) string {
	var lines []string
	said := func(who, text string, most int) {
		if text != "" {
			lines = append(lines, "["+who+"]: "+shortened(text, most))
		}
	}
	switch m.Role {
	case core.RoleUser, core.RoleAssistant:
		who := "User"
		if m.Role == core.RoleAssistant {
			who = "Assistant"
		} else if m.Repair {
			who = "Note"
		}
		said(who, m.Text(), spokenBytes)
		for i := range m.Content {
			if b := &m.Content[i]; b.Type == core.BlockFile {
				said(who, "(a file: "+b.MediaType+")", spokenBytes)
			}
		}
		for _, c := range m.ToolCalls {
			said("Call of "+c.Name, string(c.Arguments), carriedBytes)
		}
	case core.RoleTool:
		if m.ToolResult != nil {
			said("Result of "+m.ToolResult.Name, m.ToolResult.Text(), carriedBytes)
			for _, b := range filesOf(m.ToolResult) {
				said("Result of "+m.ToolResult.Name, "(a file: "+b.MediaType+")", carriedBytes)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// shortened is the beginning of a text, whole characters of it, and how much there was.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s [the first %d of %d bytes]", text[:end], end, len(text))
}

// TranscriptSize is how many bytes a message adds to a transcript.
func TranscriptSize(m *core.Message) int { return len(paragraph(m)) + 2 }

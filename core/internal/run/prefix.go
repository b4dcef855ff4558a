package run

import (
	"encoding/binary"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Providers cache the start of a request, and charge a fraction of the price when
// the next request starts with the same. So each turn's record has three hashes of
// the start of its request, and an event has the reason for a different start.

// Why the beginning of a request is not that of the turn before, in the order of the
// request: the first of them is what a prefix_changed event says.
const (
	changedModel   = "model"
	changedTools   = "tools"
	changedSystem  = "system"
	changedContext = "context"
	changedSummary = "summary"
	changedCut     = "cut"
	changedResults = "results"
)

// The places of hashes in core.Window.Prefix, in the order of the request.
const (
	prefixTools   = iota // the tools that are offered
	prefixSystem         // the system prompt, and what plugins add to it
	prefixContext        // context messages before the conversation
)

// marked notes what the request begins with, and announces a beginning that is not that
// of the turn before: what its provider has kept of it is of no use then.
func (p *prompt) marked(request *model.Request, b beside) {
	if !p.framed { // the same as before
		return
	}
	p.framed = false
	w := p.window
	w.Prefix = [3]uint32{prefixTools: toolsHash(request.Tools), prefixSystem: textHash(0, request.System), prefixContext: messagesHash(b.before)}
	said, last := p.lastTurn()
	if last == nil || last.Estimate == 0 {
		return
	}
	// In the order of the request: after the first change nothing is cached anyway.
	reason := ""
	switch {
	case said.Model != request.Model || said.Provider != p.model.Provider:
		reason = changedModel
	case w.Prefix[prefixTools] != last.Prefix[prefixTools]:
		reason = changedTools
	case w.Prefix[prefixSystem] != last.Prefix[prefixSystem]:
		reason = changedSystem
	case w.Prefix[prefixContext] != last.Prefix[prefixContext]:
		reason = changedContext
	case w.Summary != last.Summary:
		reason = changedSummary
	case w.First != last.First || w.Opening != last.Opening:
		reason = changedCut
	case w.Short != last.Short:
		reason = changedResults
	default:
		return
	}
	p.holder.events.Emit(core.Event{Type: core.EventPrefixChanged, Reason: reason})
}

// lastTurn is the newest turn of the history, and the window that its record has: a
// summary that has come in force since is not in that. nil before the first.
func (p *prompt) lastTurn() (*core.Message, *core.Window) {
	c := p.draft.past
	for i := c.Messages.Len() - 1; i >= 0; i-- {
		if m := c.Messages.At(i); m.Role == core.RoleAssistant {
			return m, c.Places.At(i).Window
		}
	}
	return nil, nil
}

// textHash adds a text to a hash. It does not protect against an adversary who
// wishes two texts to be taken for one: it decides the text of an event.
func textHash[T ~string | ~[]byte](h uint32, text T) uint32 {
	const prime = 0x9e3779b97f4a7c15 // odd, with bits that look random
	sum := (uint64(h) ^ uint64(len(text))) * prime
	i := 0
	for ; i+8 <= len(text); i += 8 { // eight bytes at a time: prompts are long
		word := binary.LittleEndian.Uint64([]byte(text[i : i+8]))
		sum = (sum ^ word) * prime
		sum ^= sum >> 29
	}
	for ; i < len(text); i++ {
		sum = (sum ^ uint64(text[i])) * prime
	}
	return uint32(sum >> 32)
}

func toolsHash(tools []model.ToolDefinition) (h uint32) {
	for i := range tools {
		h = textHash(textHash(textHash(h, tools[i].Name), tools[i].Description), tools[i].Parameters)
	}
	return h
}

func messagesHash(messages []core.Message) (h uint32) {
	for i := range messages {
		h = textHash(textHash(h, string(messages[i].Role)), messages[i].Text())
	}
	return h
}

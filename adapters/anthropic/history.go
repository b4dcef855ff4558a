package anthropic

import (
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/modelwire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// history is what the conversation so far says about a request.
type history struct {
	ids       []modelwire.IDs // of each message
	called    []string        // the names that calls have, sorted
	thought   bool            // it has thinking of this model
	unthought bool            // it ends in a tool loop that began without
}

func newHistory(request model.Request) (h history, err error) {
	if h.ids, err = modelwire.CallIDs(name, request.Messages); err != nil {
		return h, err
	}
	for _, m := range request.Messages {
		for _, call := range m.ToolCalls {
			h.called = append(h.called, toolName(call.Name))
		}
		h.thought = h.thought || thinks(m, request.Origin)
	}
	slices.Sort(h.called)
	h.called = slices.Compact(h.called)
	first, open := openLoop(request.Messages)
	h.unthought = open && !beginsThinking(first, request.Origin)
	return h, nil
}

// openLoop returns the first turn of the tool loop that the model is in the middle of:
// turns with calls, with nothing but results and plugins' context between them, of which
// the last is the last turn.
func openLoop(messages []core.Message) (first core.Message, open bool) {
	for _, m := range slices.Backward(messages) {
		switch m.Role {
		case core.RoleAssistant:
			if len(m.ToolCalls) == 0 {
				return first, open
			}
			first, open = m, true
		case core.RoleUser:
			if open {
				return first, open
			}
		}
	}
	return first, open
}

// thinks reports whether a turn has thinking of the origin.
func thinks(m core.Message, origin string) bool {
	return slices.ContainsFunc(m.Content, func(b core.Block) bool { return own(b, origin) })
}

// beginsThinking reports whether what goes out of a turn begins with such thinking.
func beginsThinking(m core.Message, origin string) bool {
	for _, b := range m.Content {
		if own(b, origin) || b.Type == core.BlockText && seen(b.Text) {
			return own(b, origin)
		}
	}
	return false
}

// own reports whether a block goes back as it came: to no model but the one that made it.
func own(b core.Block, origin string) bool { return len(b.Echo) > 0 && b.Origin == origin }

// toolName is the name of a call as the API takes it. Another model may have made one up
// that it does not, and every request of the thread would be refused for it.
func toolName(name string) string {
	if plainName(name) {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && plainName(string(r)) {
			return r
		}
		return '_'
	}, name)
	if plain == "" {
		return "_"
	}
	return plain[:min(len(plain), maxName)]
}

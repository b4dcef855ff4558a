package anthropic

import (
	"slices"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// history is what the conversation so far says about a request.
type history struct {
	ids       []wire.IDs // of each message
	called    []string   // the names that calls have, sorted
	thought   bool       // it has thinking of this model
	unthought bool       // it ends in a tool loop that began without
	foreign   bool       // it ends in a tool loop of which another model has said a part
}

func newHistory(request model.Request) (h history, err error) {
	if h.ids, err = wire.CallIDs(name, request.Messages); err != nil {
		return h, err
	}
	for _, m := range request.Messages {
		for _, call := range m.ToolCalls {
			h.called = append(h.called, wire.MadePlain(call.Name, maxName))
		}
		h.thought = h.thought || thinks(m, request.Origin)
	}
	slices.Sort(h.called)
	h.called = slices.Compact(h.called)
	h.judgeLoop(request)
	return h, nil
}

// judgeLoop examines the tool loop that the model is in. Only the first of its own turns
// counts: within a budget, without a beta feature, it thinks once a loop.
func (h *history) judgeLoop(request model.Request) {
	first := true
	for _, m := range openLoop(request) {
		if m.Role != core.RoleAssistant {
			continue
		}
		if !beginsThinking(m, request.Origin) {
			h.unthought = h.unthought || first
			h.foreign = h.foreign || m.Model != request.Model
		}
		first = false
	}
}

// openLoop returns the tool loop that the model is in: turns with calls, with only
// results and plugins' context between them, up to the last turn of the request. Text of
// the model directly before the first of them is in one message with it.
func openLoop(request model.Request) []core.Message {
	from, to := 0, 0
	behind := core.RoleUser // of the message after the current one
	for i, m := range slices.Backward(request.Messages) {
		switch {
		case m.Role != core.RoleAssistant:
			if m.Role == core.RoleUser && to > 0 {
				return request.Messages[from:to]
			}
		case len(m.ToolCalls) > 0:
			if to == 0 {
				to = i + 1
			}
			from = i
		case silent(m, request.Origin):
			continue
		case to > 0 && behind == core.RoleAssistant:
			return request.Messages[i:to]
		default:
			return request.Messages[from:to]
		}
		behind = m.Role
	}
	return request.Messages[from:to]
}

// silent reports whether nothing goes out of a turn without calls.
func silent(m core.Message, origin string) bool {
	return !slices.ContainsFunc(m.Content, func(b core.Block) bool { return own(b, origin) || b.Type == core.BlockText && seen(b.Text) })
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

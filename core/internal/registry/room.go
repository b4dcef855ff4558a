package registry

import (
	"cmp"
	"math"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/model"
)

// Room is what an agent's requests to a model may hold, in tokens.
type Room struct {
	Request int // what a request may cost; 0: not known
	Most    int // what the model takes at most; 0: not known
	Keep    int // newest messages that are shown at any cost
	PerByte int // what a byte costs, about, in thousandths of a token
}

// defaults are those of a policy that says nothing.
var defaults = agent.ContextWindowPolicy{}.WithDefaults()

// Room returns the size that the agent's requests may have. It is the window of its model,
// or the smallest of its pool, so that a switch moves no cut, or the size in the agent's
// policy if that is less. The space reserved for the turn is deducted.
func (r *Resolved) Room() Room { return r.roomOf(r.Level()) }

// RoomWithin returns Room for a window that is smaller than the agent's, in tokens; 0, or a
// larger one: Room. Where nothing would be left for a request, that has a quarter of it.
func (r *Resolved) RoomWithin(window int) Room {
	m := r.Level()
	if window == 0 || m.ContextWindow > 0 && window >= m.ContextWindow {
		return r.roomOf(m)
	}
	m.ContextWindow = window
	room := r.roomOf(m)
	room.Most = max(room.Most, window/4)
	room.Request = max(room.Request, min(room.Most, window/4))
	return room
}

func (r *Resolved) roomOf(m model.Facts) Room {
	var p agent.ContextWindowPolicy
	if r.Spec.Context != nil {
		p = *r.Spec.Context
	}
	room := Room{Keep: *cmp.Or(p.MinRecentMessages, defaults.MinRecentMessages), PerByte: int(math.Round(1000 * m.Ratio()))}
	window := m.ContextWindow
	if window == 0 { // no catalog, either
		window = cmp.Or(p.MaxContextTokens, assumedWindow)
	}
	free := reserve(&r.Spec, p, window, m.MaxOutputTokens)
	room.Most = window - free
	if m.MaxInputTokens > 0 {
		room.Most = min(room.Most, m.MaxInputTokens)
	}
	room.Request = room.Most
	if p.MaxContextTokens > 0 {
		room.Request = min(room.Request, p.MaxContextTokens-free)
	}
	return room
}

// reserve is the space reserved for the turn: the policy's, else the largest turn of the
// agent, else the default. It is no more than the model can generate, nor than a quarter of
// its window.
func reserve(s *agent.Spec, p agent.ContextWindowPolicy, window, output int) int {
	free := cmp.Or(p.MaxOutputTokens, s.MaxTokens)
	if free == 0 {
		free = min(defaults.MaxOutputTokens, window/4)
	}
	if output > 0 {
		free = min(free, output)
	}
	return free
}

// checkRoom returns an error if nothing of a model's window is left for a request.
func (r *Resolved) checkRoom() error {
	for _, m := range r.CallableModels() {
		if room := r.roomOf(m.Facts); room.Request <= 0 {
			name, value := "max_tokens", r.Spec.MaxTokens
			if p := r.Spec.Context; p != nil && p.MaxOutputTokens > 0 {
				name, value = "context.max_output_tokens", p.MaxOutputTokens
			}
			return field.Invalid("agent", r.Spec.ID, name, "is %d: of the window of model %q, %d tokens, nothing is left for a request", value, m.ID, m.ContextWindow)
		}
	}
	return nil
}

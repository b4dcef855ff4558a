package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// A model's view of the thread follows from the log: the newest turn's record has
// the window of that turn, the step adds later messages and cuts when that is too
// much, and the record of the next turn has its window. No process remembers
// anything else, so that the next claim of the step makes the same request.

// opened is the run's first message, and its sequence; nil if it is unknown. A run
// that continues another has the first message of that one. The entry with which a
// run starts names it, as package checkpoint reads it.
func (p *prompt) opened() (*core.Message, uint64) {
	for i := range p.draft.entries {
		if p.draft.past.Run == p.holder.id { // the run has started before
			break
		}
		if p.draft.entries[i].Superseded != nil {
			continue
		}
		if m := p.draft.entries[i].Message; m != nil && m.IsInput() {
			return m, p.draft.sequence(i)
		}
		break
	}
	return p.draft.past.Opening.Message, p.draft.past.Opening.Seq
}

// front is the message that the draft's window shows before the history.
func (p *prompt) front() *core.Message {
	if p.window.Opening == 0 {
		return nil
	}
	if m, seq := p.opened(); seq == p.window.Opening {
		return m
	}
	return p.draft.past.Front
}

// known is the window of the model as far as refusals have told this process, in tokens;
// 0: nothing that is smaller than the agent's.
func (p *prompt) known() int {
	agent := p.base.agent
	n := p.holder.s.windows.Known(agent, p.holder.s.env.Now())
	if w := agent.Level().ContextWindow; w > 0 && n >= w {
		n = 0
	}
	return p.holder.s.choices.Known(p.holder.id, p.draft.step, n)
}

// least is the smaller of two sizes of which 0 says nothing.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// reckoning is what the window of a request is chosen from. known is the model's window as
// refusals tell, or 0.
func (p *prompt) reckoning(request *model.Request, b beside, known int) window.Request {
	room := p.base.agent.RoomWithin(known)
	if p.sum == (window.Sum{}) {
		p.sum = p.draft.past.Sum
	}
	r := window.Request{
		Sum: &p.sum, History: p.shown, Last: p.draft.past.Window, Run: p.holder.id, Front: p.draft.past.Front,
		Limit: room.Request, Most: room.Most, Keep: room.Keep, PerByte: room.PerByte,
	}
	r.Opening, r.OpenedAt = p.opened()
	r.Fixed = window.Reckon(request, r.PerByte) + window.ReckonAll(b.before, r.PerByte) + window.ReckonAll(b.behind, r.PerByte)
	if s := p.draft.past.Summary; s != nil {
		r.Fixed += window.ReckonAll([]core.Message{s.Message}, r.PerByte)
	}
	if p.holder.s.most > 0 {
		r.Limit = min(r.Limit, p.holder.s.most+r.Fixed)
		r.Most = min(r.Most, r.Limit)
	}
	r.Reckoned, r.Counted = p.counted(request.Model)
	return r
}

// counted is what the newest turn of a model that the history has was estimated at, and
// what its provider counted; 0 if none says.
func (p *prompt) counted(model string) (reckoned, counted int) {
	c := p.draft.past
	for i := c.Messages.Len() - 1; i >= int(c.First); i-- {
		m, w := c.Messages.At(i), c.Places.At(i).Window
		if m.Role == core.RoleAssistant && w != nil && w.Tokens > 0 && m.Model == model {
			return w.Estimate, w.Tokens
		}
	}
	return 0, 0
}

// frame decides what the request shows of the thread, once for a step: its retries and
// continuations show the same, unless the provider refuses it as too long.
func (p *prompt) frame(request *model.Request, b beside) {
	if p.window == nil {
		known := p.known()
		w := p.reckoning(request, b, known).Next()
		w.Tokens, w.Refused, w.Limit, w.Known = 0, false, 0, known
		p.window, p.framed = &w, true
	}
}

// turnWindow is the window of the turn in progress, for its record; for a turn
// without a call of a model, the one that the next step would have started with.
func (p *prompt) turnWindow() *core.Window {
	if p.window != nil {
		return p.window
	}
	if p.draft.past == nil {
		return nil
	}
	w := p.draft.past.Window
	return &core.Window{First: w.First, Short: w.Short, Summary: w.Summary, Opening: w.Opening, Compact: w.Compact, Skipped: w.Skipped}
}

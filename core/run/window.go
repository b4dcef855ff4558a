package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/core/window"
)

// What a model is shown of the thread follows from the log: the newest turn's record
// says what that turn was shown, the step adds what came since and cuts when that is
// too much, and the turn that comes of it says what it was shown. No process remembers
// anything beside that, so that whoever takes the step next asks for the same.

// soFar is what the draft knows of the thread: from what the newest turn was shown on,
// with what is said in this step.
func (d *draft) soFar() window.History {
	past := d.past.Places.Slice()[d.past.First:]
	h := window.History{Messages: d.messages.Slice(), Places: past}
	if len(h.Messages) == len(past) {
		return h
	}
	h.Places = append(make([]window.Place, 0, len(h.Messages)), past...)
	for i := range d.entries {
		if d.entries[i].Message != nil {
			h.Places = append(h.Places, window.Place{Sequence: d.base.holder.head.Seq + uint64(i) + 1})
		}
	}
	return h
}

// opened is what the run was asked first, and its sequence; nil where nobody knows. A run
// that takes another up was asked what that was. The entry with which a run begins says
// which, as in [builder.begin].
func (d *draft) opened() (*core.Message, uint64) {
	for i := range d.entries {
		if d.past.Run == d.base.holder.id { // the run has begun before
			break
		}
		if d.entries[i].Superseded != nil {
			continue
		}
		if m := d.entries[i].Message; m != nil && m.IsInput() {
			return m, d.base.holder.head.Seq + uint64(i) + 1
		}
		break
	}
	return d.past.Opening.Message, d.past.Opening.Seq
}

// front is the message that the draft's window shows before the history.
func (d *draft) front() *core.Message {
	if d.window.Opening == 0 {
		return nil
	}
	if m, seq := d.opened(); seq == d.window.Opening {
		return m
	}
	return d.past.Front
}

// reckoning is what the window of a request is chosen from.
func (d *draft) reckoning(request *model.Request, b beside) window.Request {
	room := d.base.agent.Room()
	r := window.Request{
		History: d.shown, Last: d.past.Window, Run: d.base.holder.id, Front: d.past.Front,
		Limit: room.Request, Most: room.Most, Keep: room.Keep, PerByte: room.PerByte,
	}
	r.Opening, r.OpenedAt = d.opened()
	r.Fixed = window.Reckon(request, r.PerByte) + window.ReckonAll(b.before, r.PerByte) + window.ReckonAll(b.behind, r.PerByte)
	if s := d.past.Summary; s != nil {
		r.Fixed += window.ReckonAll([]core.Message{s.Message}, r.PerByte)
	}
	if d.base.holder.s.most > 0 {
		r.Limit = min(r.Limit, d.base.holder.s.most+r.Fixed)
		r.Most = min(r.Most, r.Limit)
	}
	r.Reckoned, r.Counted = d.counted(request.Model)
	return r
}

// counted is what the newest turn of a model that the history has was estimated at, and
// what its provider counted; 0 if none says.
func (d *draft) counted(model string) (reckoned, counted int) {
	c := d.past
	for i := c.Messages.Len() - 1; i >= c.First; i-- {
		m, w := c.Messages.At(i), c.Places.At(i).Window
		if m.Role == core.RoleAssistant && w != nil && w.Tokens > 0 && m.Model == model {
			return w.Estimate, w.Tokens
		}
	}
	return 0, 0
}

// frame decides what the request shows of the thread, once for a step: its retries and
// continuations show the same, unless the provider refuses it as too long.
func (d *draft) frame(request *model.Request, b beside) {
	if d.window == nil {
		w := d.reckoning(request, b).Next()
		w.Tokens, w.Refused = 0, false
		d.window, d.framed = &w, true
	}
}

// overflowed cuts what the model is shown after its provider has refused the request as
// too long; false when nothing is left to cut. What the provider counts is more than
// what it takes: the next estimates go on from there, unless it says better.
func (d *draft) overflowed(request *model.Request) bool {
	refused := *d.window
	r := d.reckoning(request, d.beside)
	w, ok := r.Again(refused)
	if !ok {
		return false
	}
	w.Tokens = int(int64(w.Estimate) * int64(max(r.Limit, r.Most)) / int64(max(refused.Estimate, 1)))
	w.Refused = true
	d.window, d.framed = &w, true
	return true
}

// turnWindow is the window of the turn that is said, for its record; of a turn that no
// model was asked for, what the next step would have begun with.
func (d *draft) turnWindow() *core.Window {
	if d.window != nil {
		return d.window
	}
	if d.past == nil {
		return nil
	}
	w := d.past.Window
	return &core.Window{First: w.First, Short: w.Short, Summary: w.Summary, Opening: w.Opening, Compact: w.Compact, Skipped: w.Skipped}
}

// tool is the agent's tool of a name, or the runtime's own, which reads what the draft
// knows of the thread; nil: there is none.
func (d *draft) tool(name string) tool.Tool {
	if name == tool.ReadResult && d.base.agent.Reads {
		return window.Reader{History: d.soFar()}
	}
	return d.base.agent.Tools[name]
}

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

// marked notes what the request begins with, and announces a beginning that is not that
// of the turn before: what its provider has kept of it is of no use then.
func (d *draft) marked(request *model.Request, b beside) {
	if !d.framed { // the same as before
		return
	}
	d.framed = false
	w := d.window
	w.Prefix = [3]uint32{core.PrefixTools: toolsHash(request.Tools), core.PrefixSystem: textHash(0, request.System), core.PrefixContext: messagesHash(b.before)}
	said, last := d.lastTurn()
	if last == nil || last.Estimate == 0 {
		return
	}
	reason := ""
	switch {
	case said.Model != request.Model || said.Provider != d.base.model.Provider:
		reason = changedModel
	case w.Prefix[core.PrefixTools] != last.Prefix[core.PrefixTools]:
		reason = changedTools
	case w.Prefix[core.PrefixSystem] != last.Prefix[core.PrefixSystem]:
		reason = changedSystem
	case w.Prefix[core.PrefixContext] != last.Prefix[core.PrefixContext]:
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
	d.base.holder.events.Emit(core.Event{Type: core.EventPrefixChanged, Reason: reason})
}

// lastTurn is the newest turn of the history, and what its record says that its model was
// shown: a summary that has come in force since is not in that. nil before the first.
func (d *draft) lastTurn() (*core.Message, *core.Window) {
	c := d.past
	for i := c.Messages.Len() - 1; i >= 0; i-- {
		if m := c.Messages.At(i); m.Role == core.RoleAssistant {
			return m, c.Places.At(i).Window
		}
	}
	return nil, nil
}

// textHash adds a text to a hash. It is no hash to rely on where somebody wishes two
// texts to be taken for one: it decides what an event says.
func textHash[T ~string | ~[]byte](h uint32, text T) uint32 {
	const prime = 0x9e3779b97f4a7c15 // odd, with bits that look random
	sum := (uint64(h) ^ uint64(len(text))) * prime
	i := 0
	for ; i+8 <= len(text); i += 8 { // eight bytes at a time: prompts are long
		word := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
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

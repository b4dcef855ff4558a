package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/run/history"
)

// turnBuilder collects the deltas of one inference into a turn, and emits them.
// Blocks come in the order in which their kind changes; calls after all blocks, in
// the order in which they start. Positions are those of the turn as it will be
// committed, so that a reader who reconnects finds them in the record. A retry goes
// on where a failed call has left it, see cut.
//
// It belongs to the step's goroutine, which the model's stream runs in, and
// outlives the inference: what was said is a cancelled run's last message, and how
// often the model has failed goes into the nack.
type turnBuilder struct {
	void    bool // the model has failed for good: readers are told that nothing of it stands
	steered bool // it has also read input of the inbox, which is not in the log before the turn is
	draft   *draft
	failed  uint8 // calls of the model for this turn, over all deliveries, those of lost claims included
	number  int
	id      string
	blocks  []core.Block
	text    strings.Builder // of the open block
	kind    core.BlockType  // of the open block; "": none
	calls   []*callBuilder
	dropped []string      // ids of calls that a failure has cut off: clients know them
	spent   account.Spent // by the calls of this delivery
	stop    core.StopReason

	answering bool // the call of answer's index gives the answer: its arguments are text
	answered  bool // one has
	answer    int

	asked     model.Request     // the newest
	member    *agent.BoundModel // whose it is: the agent's model, or a member of its pool
	pool      *choice           // nil: the agent has one model
	continued int               // calls that went on behind a limit of tokens
	broken    bool              // the newest call has failed, and did not reach a limit
	shortened bool              // the provider has refused the request as too long, and was shown less
	goesOn    bool              // the newest call went on from what stood of the turn
}

// add takes a delta of the model. What makes no sense is an error of the call, and
// the call is made again: a turn of which a part is missing must not be stored.
func (t *turnBuilder) add(d model.Delta) error {
	if t.stop != "" && d.Type != model.DeltaUsage && d.Type != model.DeltaStop {
		return fmt.Errorf("model sent a delta of type %d after its stop", d.Type)
	}
	switch d.Type {
	case model.DeltaText:
		t.say(core.BlockText, core.EventTextDelta, d.Text)
	case model.DeltaReasoning:
		t.say(core.BlockReasoning, core.EventReasoningDelta, d.Text)
		// An echo (a provider's signature over its reasoning) ends the block that it is
		// for, and is given back to no other model than the one that made it.
		if d.Echo != nil {
			t.endBlock()
			t.blocks[len(t.blocks)-1].Echo = d.Echo
			t.blocks[len(t.blocks)-1].Origin = t.asked.Origin
			t.emitEcho(len(t.blocks) - 1)
		}
	case model.DeltaToolStart:
		if t.answering = t.answers(d); t.answering {
			t.endBlock() // the answer is a block of its own, behind what was said before
			t.answered, t.answer = true, d.Index
			return nil
		}
		t.start(d)
	case model.DeltaToolArgument:
		if t.answering && d.Index == t.answer {
			t.say(core.BlockText, core.EventTextDelta, d.Text)
			return nil
		}
		i := t.find(d.Index)
		if i < 0 {
			return fmt.Errorf("model sent arguments for call %d, which it has not started", d.Index)
		}
		c := t.calls[i]
		c.sent.WriteString(d.Text)
		if text := c.arguments.add(d.Text); text != "" {
			t.emit(core.Event{Type: core.EventToolCallDelta, CallID: c.id, Delta: text}, len(t.blocks)+i, c.arguments.Len())
		}
	case model.DeltaUsage:
		t.spent.Count(counted(d.Usage))
	case model.DeltaStop:
		t.stop = d.Stop
		if t.stop == "" {
			t.stop = core.StopOther
		}
		if t.answered && len(t.calls) == 0 && t.stop == core.StopToolUse {
			t.stop = core.StopEndTurn
			if t.answering && t.text.Len() == 0 { // a call without arguments has none, and is whole
				t.say(core.BlockText, core.EventTextDelta, "{}")
			}
		}
	}
	return nil
}

// counted is what a provider says that it has counted: what is below zero is no count,
// and would give a token budget back.
func counted(u core.Usage) core.Usage {
	return core.Usage{
		Input: max(u.Input, 0), Output: max(u.Output, 0), CacheRead: max(u.CacheRead, 0),
		CacheWrite: max(u.CacheWrite, 0), Reasoning: max(u.Reasoning, 0),
	}
}

// say appends to the open block, or opens one of the kind.
func (t *turnBuilder) say(kind core.BlockType, event core.EventType, text string) {
	if t.kind != kind {
		t.endBlock()
		t.kind = kind
	}
	t.text.WriteString(text)
	if text != "" {
		t.emit(core.Event{Type: event, Delta: text}, len(t.blocks), t.text.Len())
	}
}

// emitEcho announces what a provider wants back of a block that has ended.
func (t *turnBuilder) emitEcho(block int) {
	b := t.blocks[block]
	t.emit(core.Event{Type: core.EventReasoningEncrypted, EncryptedValue: b.Echo}, block, len(b.Text))
}

// endBlock ends the open block: from here on its bytes and its index are fixed.
func (t *turnBuilder) endBlock() {
	if t.kind != "" {
		t.blocks = append(t.blocks, core.Block{Type: t.kind, Text: t.text.String()})
	}
	t.kind = ""
	t.text.Reset()
}

// start begins a call. Text after it would shift the calls' positions, so that the
// open block ends with the first of them.
func (t *turnBuilder) start(d model.Delta) {
	t.endBlock()
	// A dropped call keeps its number: its id was shown, and must not mean another.
	id := d.CallID
	if id == "" || t.taken(id) {
		id = history.CallID(t.draft.base.holder.id, t.number, len(t.dropped)+len(t.calls))
	}
	t.calls = append(t.calls, &callBuilder{index: d.Index, id: id, name: d.Name, echo: d.Echo})
	t.emit(core.Event{Type: core.EventToolCallStart, CallID: id, Name: d.Name}, len(t.blocks)+len(t.calls)-1, 0)
}

// taken reports whether the conversation has the call id: a provider may repeat
// one, and clients tell calls apart by them.
func (t *turnBuilder) taken(id string) bool {
	if slices.Contains(t.dropped, id) {
		return true
	}
	for _, c := range t.calls {
		if c.id == id {
			return true
		}
	}
	// Of the window alone: no model is shown an older call beside this one.
	for _, m := range t.draft.messages.Slice() {
		for _, c := range m.ToolCalls {
			if c.ID == id {
				return true
			}
		}
	}
	return false
}

// find returns the newest call of the provider's index: some give all the same.
func (t *turnBuilder) find(index int) int {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if t.calls[i].index == index {
			return i
		}
	}
	return -1
}

// emit emits an event of this turn at the end of a byte of a block. This is where a
// delta gets its place; history.Emitter makes a position of it.
func (t *turnBuilder) emit(e core.Event, block, end int) {
	e.MessageID = t.id
	t.draft.base.holder.events.EmitAt(e, block, end)
}

// failures is how many calls of the model have failed for the turn; none when
// there is no turn.
func (t *turnBuilder) failures() uint8 {
	if t == nil {
		return 0
	}
	return t.failed
}

// shown reports whether something of the turn was emitted that stands in no record.
func (t *turnBuilder) shown() bool {
	return len(t.blocks)+t.text.Len()+len(t.calls)+len(t.dropped) > 0
}

// said is the text that came so far, without reasoning and calls; empty when there
// is no turn.
func (t *turnBuilder) said() string {
	if t == nil {
		return ""
	}
	var text strings.Builder
	for _, b := range t.blocks {
		if b.Type == core.BlockText {
			text.WriteString(b.Text)
		}
	}
	if t.kind == core.BlockText {
		text.WriteString(t.text.String())
	}
	return text.String()
}

// words are the blocks that came so far, the open one as far as it came: at their
// places, since readers have been shown them there, and without calls.
func (t *turnBuilder) words() []core.Block {
	t.endBlock()
	return t.blocks
}

// whole reports whether the turn can end here: the model has said so, or a call
// is complete.
func (t *turnBuilder) whole() bool {
	return t.stop != "" || slices.ContainsFunc(t.calls, (*callBuilder).complete)
}

// cut leaves what stands of the turn when a call of the model has failed, so that
// no byte of it is ever sent again:
//
//   - a complete tool call, and the turn ends with those that are;
//   - text: its block stays open, and the next call goes on from it;
//   - reasoning, as it was shown. Its block is closed, since an echo that the next
//     call brings belongs to that call's reasoning alone. Where no text stands the
//     next call knows nothing of it, so that its own echo goes as well.
//
// A call whose arguments are cut off is dropped and announced as cancelled.
// dropped reports whether there was one, or an echo was dropped that was shown.
func (t *turnBuilder) cut() (dropped bool) {
	t.spent.EndCall()
	if t.stop != "" {
		return false
	}
	before := len(t.dropped)
	t.calls = slices.DeleteFunc(t.calls, func(c *callBuilder) bool {
		if c.complete() {
			return false
		}
		t.dropped = append(t.dropped, c.id)
		t.emit(core.Event{Type: core.EventToolCallCancel, CallID: c.id, Name: c.name}, len(t.blocks), 0)
		return true
	})
	if dropped = len(t.dropped) > before; len(t.calls) > 0 {
		t.stop = core.StopToolUse
		return dropped
	}
	// The next call sees what stands as a message of its own, cutOff, and adds to the
	// same builder: its first byte comes right behind the last one that was shown.
	last := len(t.blocks) - 1
	switch {
	case t.kind == core.BlockReasoning && t.text.Len() > 0:
		t.endBlock()
	case t.kind == core.BlockReasoning:
		t.kind = ""
	case t.kind == "" && last >= 0 && t.blocks[last].Type == core.BlockText: // a dropped call had closed it
		t.kind = core.BlockText
		t.text.WriteString(t.blocks[last].Text)
		t.blocks = t.blocks[:last]
	}
	if t.said() == "" {
		for i := range t.blocks {
			dropped = dropped || t.blocks[i].Echo != nil
			t.blocks[i].Echo, t.blocks[i].Origin = nil, ""
		}
	}
	return dropped
}

// cutOff is the part of the turn that a failed call has left, as the message that
// the next one goes on from; false when no text stands. Reasoning without its echo
// is left out: no provider takes half a thought back.
func (t *turnBuilder) cutOff() (core.Message, bool) {
	if t.said() == "" {
		return core.Message{}, false
	}
	m := core.Message{ID: t.id, Role: core.RoleAssistant, RunID: t.draft.base.holder.id, Step: t.number, Model: t.asked.Model}
	for _, b := range t.blocks {
		if b.Text != "" && b.Type == core.BlockText || b.Echo != nil {
			m.Content = append(m.Content, b)
		}
	}
	if t.kind == core.BlockText && t.text.Len() > 0 {
		m.Content = append(m.Content, core.Block{Type: core.BlockText, Text: t.text.String()})
	}
	return m, true
}

// noteTokens takes what the provider counts for the turn's request into its record, to
// compare the next estimates with: of the newest call alone, and not of one that went on
// from what stood already, which is longer than what is estimated.
func (t *turnBuilder) noteTokens() {
	newest, _ := t.spent.Newest()
	if newest.Input == 0 {
		return
	}
	tokens := newest.Input
	if t.goesOn {
		tokens = 0
	}
	t.draft.window.Tokens = t.draft.base.holder.s.choices.Counted(t.draft.base.holder.id, t.number, tokens)
}

// complete returns the whole turn and announces its calls and usage. Calls are ready
// only now: before its stop a model may add to each of them. Usage is that of all
// calls of the model in this delivery; those of earlier ones are not known.
func (t *turnBuilder) complete() *core.Message {
	t.endBlock()
	t.noteTokens()
	m := &core.Message{
		ID: t.id, Role: core.RoleAssistant, Content: t.blocks,
		RunID: t.draft.base.holder.id, Step: t.number, Usage: t.spent.Usage(), Model: t.asked.Model, Provider: t.member.Provider,
		StopReason: t.stop, CreatedAt: t.draft.base.holder.saidAt(t.number),
	}
	cut := cutOrRefused(m) != ""
	for i, c := range t.calls {
		call := core.ToolCall{ID: c.id, Name: c.name, Arguments: c.whole(cut && i == len(t.calls)-1), Echo: c.echo}
		if c.echo != nil {
			call.Origin = t.asked.Origin
		}
		m.ToolCalls = append(m.ToolCalls, call)
		t.draft.base.holder.events.Ready(m, i, c.arguments.Len())
	}
	t.draft.base.holder.events.Complete(m, t.spent.Time().Milliseconds())
	return m
}

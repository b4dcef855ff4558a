package inference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/model"
)

// speech collects the deltas of a turn's calls, and emits them. Blocks come in the order in
// which their kind changes; calls after all blocks, in the order in which they start.
// Positions are those of the turn as it will be committed, so that a reader who reconnects
// finds them in the record. A further call resumes where a failed one has left it, see cut.
type speech struct {
	of     *Step
	id     string // of the message that the turn will be
	origin string // of the current model: no other model receives its echoes

	blocks  []core.Block    // closed: their bytes and indexes are fixed
	text    strings.Builder // of the open block
	kind    core.BlockType  // of the open block; "": none
	calls   []*callBuilder
	dropped []string        // ids of calls that a failure has cut off: clients know them
	stop    core.StopReason // that the model gave; "": none yet

	notes *notes // citations of the text; nil: none
	base  int    // bytes of text before the current call of the model

	form      bool // a call of finalanswer.Tool is the answer: its arguments are text
	answering bool // the call of answer's index is it
	answered  bool // one was
	answer    int
}

// add takes a delta of the model. An invalid delta is an error of the call, and the
// call is repeated: a turn of which a part is missing must not be stored.
func (s *speech) add(d model.Delta) error {
	if s.stop != "" && d.Type != model.DeltaUsage && d.Type != model.DeltaStop {
		return fmt.Errorf("model sent a delta of type %d after its stop", d.Type)
	}
	switch d.Type {
	case model.DeltaText:
		s.say(core.BlockText, core.EventTextDelta, d.Text)
		if d.Echo != nil { // nothing that a client needs
			s.sign(d.Echo)
		}
	case model.DeltaReasoning:
		s.say(core.BlockReasoning, core.EventReasoningDelta, d.Text)
		if d.Echo != nil {
			s.sign(d.Echo)
			s.emitEcho(len(s.blocks) - 1)
		}
	case model.DeltaToolStart:
		if s.answering = s.answers(d); s.answering {
			s.endBlock() // the answer is a separate block, after the earlier ones
			s.answered, s.answer = true, d.Index
			return nil
		}
		s.start(d)
	case model.DeltaToolArgument:
		if s.answering && d.Index == s.answer {
			s.say(core.BlockText, core.EventTextDelta, d.Text)
			return nil
		}
		i := s.find(d.Index)
		if i < 0 {
			return fmt.Errorf("model sent arguments for call %d, which it has not started", d.Index)
		}
		c := s.calls[i]
		c.sent.WriteString(d.Text)
		if text := c.arguments.add(d.Text); text != "" {
			s.emit(core.Event{Type: core.EventToolCallDelta, CallID: c.id, Delta: text}, len(s.blocks)+i, c.arguments.size())
		}
	case model.DeltaAnnotation:
		if d.Annotation != nil {
			if s.notes == nil {
				s.notes = new(notes)
			}
			s.notes.add(*d.Annotation, s.base)
		}
	case model.DeltaStop:
		s.stop = d.Stop
		if s.stop == "" {
			s.stop = core.StopOther
		}
		if s.answered && len(s.calls) == 0 && s.stop == core.StopToolUse {
			s.stop = core.StopEndTurn
			if s.answering && s.text.Len() == 0 { // a call without arguments has none, and is whole
				s.say(core.BlockText, core.EventTextDelta, "{}")
			}
		}
	}
	return nil
}

// say appends to the open block, or opens one of the kind.
func (s *speech) say(kind core.BlockType, event core.EventType, text string) {
	if s.kind != kind {
		s.endBlock()
		s.kind = kind
	}
	if s.text.Cap() == 0 {
		s.text.Grow(64) // a block comes in small pieces
	}
	s.text.WriteString(text)
	if text != "" {
		s.emit(core.Event{Type: event, Delta: text}, len(s.blocks), s.text.Len())
	}
}

// sign ends the open block with an echo (a provider's signature over its reasoning, or its
// mark of a text), which returns to no other model than the one that made it.
func (s *speech) sign(echo json.RawMessage) {
	s.endBlock()
	b := &s.blocks[len(s.blocks)-1]
	b.Echo, b.Origin = echo, s.origin
}

// emitEcho announces what a provider wants back of a block that has ended.
func (s *speech) emitEcho(block int) {
	b := s.blocks[block]
	s.emit(core.Event{Type: core.EventReasoningEncrypted, EncryptedValue: b.Echo}, block, len(b.Text))
}

// endBlock ends the open block: from here on its bytes and its index are fixed.
func (s *speech) endBlock() {
	if s.kind != "" {
		s.blocks = append(s.blocks, core.Block{Type: s.kind, Text: s.text.String()})
	}
	s.kind = ""
	s.text.Reset()
}

// start begins a call. Text after it would shift the calls' positions, so that the
// open block ends with the first of them.
func (s *speech) start(d model.Delta) {
	s.endBlock()
	// A dropped call keeps its number: its id was shown, and must not mean another.
	id := d.CallID
	if id == "" || s.taken(id) {
		id = history.CallID(s.of.Run, s.of.Number, len(s.dropped)+len(s.calls))
	}
	s.calls = append(s.calls, &callBuilder{index: d.Index, id: id, name: d.Name, echo: d.Echo})
	s.emit(core.Event{Type: core.EventToolCallStart, CallID: id, Name: d.Name}, len(s.blocks)+len(s.calls)-1, 0)
}

// taken reports whether the conversation has the call id: a provider may repeat
// one, and clients tell calls apart by them.
func (s *speech) taken(id string) bool {
	if slices.Contains(s.dropped, id) {
		return true
	}
	for _, c := range s.calls {
		if c.id == id {
			return true
		}
	}
	return s.of.Prompt.Taken(id)
}

// find returns the newest call of the provider's index: some providers use it
// twice.
func (s *speech) find(index int) int {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].index == index {
			return i
		}
	}
	return -1
}

// emit emits an event of this turn at the end of a byte of a block. This is where a
// delta gets its place; history.Emitter makes a position of it.
func (s *speech) emit(e core.Event, block, end int) {
	e.MessageID = s.id
	s.of.Events.EmitAt(e, block, end)
}

// shown reports whether something of the turn was emitted that is in no record.
func (s *speech) shown() bool {
	return len(s.blocks)+s.text.Len()+len(s.calls)+len(s.dropped) > 0
}

// said is the text that came so far, without reasoning and calls.
func (s *speech) said() string {
	var text strings.Builder
	for _, b := range s.blocks {
		if b.Type == core.BlockText {
			text.WriteString(b.Text)
		}
	}
	if s.kind == core.BlockText {
		text.WriteString(s.text.String())
	}
	return text.String()
}

// words are the blocks that came so far, the open one as far as it came: at their
// places, since readers have been shown them there, and without calls.
func (s *speech) words() []core.Block {
	s.endBlock()
	s.notes.place(s.blocks)
	return s.blocks
}

// whole reports whether the turn can end here: the model has said so, or a call
// is complete.
func (s *speech) whole() bool {
	return s.stop != "" || slices.ContainsFunc(s.calls, (*callBuilder).complete)
}

// cut keeps the usable part of the turn when a call of the model has failed, so
// that no byte of it is ever sent again:
//
//   - a complete tool call, and the turn ends with those that are;
//   - text: its block stays open, and the next call continues from it;
//   - reasoning, as it was shown. Its block is closed, since an echo that the next
//     call brings belongs to that call's reasoning alone. If there is no text, the
//     next call knows nothing of it, so that its own echo goes as well.
//
// A call whose arguments are cut off is dropped and announced as cancelled.
// dropped reports whether there was one, or an echo was dropped that was shown.
func (s *speech) cut() (dropped bool) {
	if s.stop != "" {
		return false
	}
	before := len(s.dropped)
	s.calls = slices.DeleteFunc(s.calls, func(c *callBuilder) bool {
		if c.complete() {
			return false
		}
		s.dropped = append(s.dropped, c.id)
		s.emit(core.Event{Type: core.EventToolCallCancel, CallID: c.id, Name: c.name}, len(s.blocks), 0)
		return true
	})
	if dropped = len(s.dropped) > before; len(s.calls) > 0 {
		s.stop = core.StopToolUse
		return dropped
	}
	// The next call sees the remaining text as a separate message, cutOff, and adds
	// to the same builder: its first byte comes right after the last one that was
	// shown.
	last := len(s.blocks) - 1
	switch {
	case s.kind == core.BlockReasoning && s.text.Len() > 0:
		s.endBlock()
	case s.kind == core.BlockReasoning:
		s.kind = ""
	case s.kind == "" && last >= 0 && s.blocks[last].Type == core.BlockText && s.blocks[last].Echo == nil: // a dropped call had closed it
		s.kind = core.BlockText
		s.text.WriteString(s.blocks[last].Text)
		s.blocks = s.blocks[:last]
	}
	if s.said() == "" {
		for i := range s.blocks {
			dropped = dropped || s.blocks[i].Echo != nil
			s.blocks[i].Echo, s.blocks[i].Origin = nil, ""
		}
	}
	return dropped
}

// cutOff is the part of the turn that a failed call has left, as the message that
// the next one continues from; false if there is no text. Reasoning without its
// echo is omitted: no provider accepts half a thought.
func (s *speech) cutOff(model string) (core.Message, bool) {
	if s.said() == "" {
		return core.Message{}, false
	}
	m := core.Message{ID: s.id, Role: core.RoleAssistant, RunID: s.of.Run, Step: s.of.Number, Model: model}
	for _, b := range s.blocks {
		if b.Text != "" && b.Type == core.BlockText || b.Echo != nil {
			m.Content = append(m.Content, b)
		}
	}
	if s.kind == core.BlockText && s.text.Len() > 0 {
		m.Content = append(m.Content, core.Block{Type: core.BlockText, Text: s.text.String()})
	}
	return m, true
}

// retell emits the remaining part of the turn again, for readers of its new
// attempt. began is when the step started, unix milliseconds.
func (s *speech) retell(began int64) {
	s.of.Events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(began), MessageID: s.id})
	for i, b := range s.blocks {
		s.emitBlock(b.Type, b.Text, i)
		if b.Type == core.BlockReasoning && b.Echo != nil {
			s.emitEcho(i)
		}
	}
	s.emitBlock(s.kind, s.text.String(), len(s.blocks))
	for i, c := range s.calls {
		block := len(s.blocks) + i
		s.emit(core.Event{Type: core.EventToolCallStart, CallID: c.id, Name: c.name}, block, 0)
		if c.arguments.size() > 0 {
			s.emit(core.Event{Type: core.EventToolCallDelta, CallID: c.id, Delta: c.arguments.kept.String()}, block, c.arguments.size())
		}
	}
}

// emitBlock emits the text of a block as one delta.
func (s *speech) emitBlock(kind core.BlockType, text string, block int) {
	event := core.EventTextDelta
	if kind == core.BlockReasoning {
		event = core.EventReasoningDelta
	}
	if text != "" {
		s.emit(core.Event{Type: event, Delta: text}, block, len(text))
	}
}

// answers reports whether a call is the answer: the model's next words are its
// text. A call among others is not the answer.
func (s *speech) answers(d model.Delta) bool {
	return d.Name == finalanswer.Tool && s.form && len(s.calls)+len(s.dropped) == 0
}

// toolCalls returns the calls of the whole turn, which are announced when the
// message is whole. cut means that the turn was cut off where the last one may have
// been on its way.
func (s *speech) toolCalls(cut bool) (calls []core.ToolCall) {
	for i, c := range s.calls {
		call := core.ToolCall{ID: c.id, Name: c.name, Arguments: c.whole(cut && i == len(s.calls)-1), Echo: c.echo}
		if c.echo != nil {
			call.Origin = s.origin
		}
		calls = append(calls, call)
	}
	return calls
}

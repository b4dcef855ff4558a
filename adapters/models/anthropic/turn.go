package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// turn makes deltas of the events of one stream.
type turn struct {
	event  event         // the last one
	deltas []model.Delta // of it
	open   map[int]*part // by the API's index
	calls  int
	bare   int // the call that ended without an argument, from 1, until it is known why; 0: none
	counts counts
	began  bool   // the message has
	id     string // of the message; empty: the server gives none
	finish string // the stop reason
	said   wire.TurnText
}

// part is a block that comes in.
type part struct {
	kind      string
	call      int             // of a tool_use: its index
	argued    bool            // it has arguments
	input     input           // those that came with its beginning
	thinking  strings.Builder // so far, to go back as it came
	signature strings.Builder
	data      string // of redacted thinking
	from      int    // of a text: its place in what was said
	citations []citation
}

// Add implements wire.Turn.
func (t *turn) Add(e wire.Event) (deltas []model.Delta, last bool, err error) {
	switch e.Name {
	case "", "error", "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
	default: // pings, and what is new
		return nil, false, nil
	}
	t.event = event{}
	v := &t.event
	if err := json.Unmarshal(e.Data, v); err != nil { // what a broken stream leaves
		return nil, false, fmt.Errorf("read an event: %w", err)
	}
	t.deltas = t.deltas[:0]
	switch v.Type {
	case "error":
		f, _ := parseFailure(0, e.Data)
		return nil, false, f
	case "message_start":
		err = t.start(v.Message.ID, v.Message.Usage)
	case "content_block_start":
		err = t.begin(v.Index, &v.Content)
	case "content_block_delta":
		err = t.piece(v.Index, &v.Delta)
	case "content_block_stop":
		err = t.end(v.Index)
	case "message_delta":
		if v.Delta.StopReason != "" {
			t.finish = v.Delta.StopReason
		}
		t.report(v.Usage)
	case "message_stop":
		t.settle(!cutting(t.finish))
		last, err = true, t.closed()
	}
	return t.deltas, last, err
}

// Finished implements wire.Turn: nothing ends a message but its own last event.
func (t *turn) Finished() bool { return false }

// start begins the message. Some servers say it twice. Another message within this one is
// of another response, of which a proxy has joined the pieces: no turn can be made of both.
func (t *turn) start(id string, u *usage) error {
	switch {
	case !t.began:
		t.began, t.id = true, id
		t.report(u)
	case id != t.id, id == "" && t.open != nil:
		return fmt.Errorf("message %q began within message %q", core.Excerpt(id), core.Excerpt(t.id))
	}
	return nil
}

// begin opens a block. Blocks of unrequested kinds are not shown.
func (t *turn) begin(index int, b *eventBlock) error {
	t.settle(true) // the model continued after that call
	if t.open == nil {
		t.open = make(map[int]*part)
	}
	p := &part{kind: b.Type}
	t.open[index] = p
	switch b.Type {
	case "text":
		p.from, p.citations = t.said.Len(), b.Citations.Value
		t.say(model.DeltaText, b.Text)
	case "thinking":
		p.thinking.WriteString(b.Thinking)
		p.signature.WriteString(b.Signature)
		t.say(model.DeltaReasoning, b.Thinking)
	case "redacted_thinking":
		p.data = b.Data
	case "tool_use":
		if b.Name == "" {
			return fmt.Errorf("the tool call of block %d has no name", index)
		}
		p.call, p.input = t.calls, b.Input
		t.calls++
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolStart, Index: p.call, CallID: b.ID, Name: b.Name})
	}
	return nil
}

// piece adds to a block.
func (t *turn) piece(index int, d *eventDelta) error {
	p := t.open[index]
	if p == nil {
		return fmt.Errorf("a piece of block %d, which is not open", index)
	}
	switch {
	case d.Type == "text_delta" && p.kind == "text":
		t.say(model.DeltaText, d.Text)
	case d.Type == "citations_delta" && p.kind == "text":
		p.citations = append(p.citations, d.Citation.Value)
	case d.Type == "thinking_delta" && p.kind == "thinking":
		p.thinking.WriteString(d.Thinking)
		t.say(model.DeltaReasoning, d.Thinking)
	case d.Type == "signature_delta" && p.kind == "thinking":
		p.signature.WriteString(d.Signature)
	case d.Type == "input_json_delta" && p.kind == "tool_use" && d.Arguments != "":
		p.argued = true
		t.argue(p.call, d.Arguments)
	}
	return nil
}

// end closes a block. Thinking goes back as it came, if it is signed; unsigned thinking,
// which other servers make, does not.
func (t *turn) end(index int) error {
	p := t.open[index]
	if p == nil {
		return fmt.Errorf("the end of block %d, which is not open", index)
	}
	delete(t.open, index)
	for i := range p.citations { // all of a block's text is cited from each
		t.deltas = append(t.deltas, wire.Cite(p.citations[i].annotation(p.from, t.said.Len())))
	}
	switch {
	case p.kind == "thinking" && p.signature.Len() > 0:
		return t.echo(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{p.kind, p.thinking.String(), p.signature.String()})
	case p.kind == "redacted_thinking":
		return t.echo(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{p.kind, p.data})
	case p.kind == "tool_use" && !p.argued && p.input != "":
		t.argue(p.call, string(p.input))
	case p.kind == "tool_use" && !p.argued:
		t.bare = p.call + 1
	}
	return nil
}

// closed returns the error of a message that ends within a call: what is there of its
// arguments may be all or not.
func (t *turn) closed() error {
	for index, p := range t.open {
		if p.kind == "tool_use" {
			return fmt.Errorf("the message ended within the tool call of block %d", index)
		}
	}
	return nil
}

// settle gives the call that ended without an argument its object: a whole one, or the
// beginning of one, which nothing executes, where the call may have been cut off before
// its first argument.
func (t *turn) settle(whole bool) {
	if t.bare == 0 {
		return
	}
	text := "{"
	if whole {
		text = "{}"
	}
	t.argue(t.bare-1, text)
	t.bare = 0
}

// Stop implements wire.Turn. Calls that are there count, unless the reason may have
// cut them.
func (t *turn) Stop() (core.StopReason, error) {
	switch t.finish {
	case "end_turn", "tool_use":
		if t.calls > 0 {
			return core.StopToolUse, nil
		}
		return core.StopEndTurn, nil
	case "max_tokens":
		return core.StopMaxTokens, nil
	case "stop_sequence":
		return core.StopSequence, nil
	case "refusal":
		return core.StopContentFilter, nil
	case "model_context_window_exceeded":
		return core.StopContextOverflow, nil
	}
	return core.StopOther, nil
}

// cutting reports whether a stop reason ends a message at any place.
func cutting(reason string) bool {
	switch reason {
	case "max_tokens", "refusal", "model_context_window_exceeded":
		return true
	}
	return false
}

func (t *turn) say(kind model.DeltaType, text string) {
	if text == "" {
		return
	}
	if kind == model.DeltaText {
		t.said.Add(text)
	}
	t.deltas = append(t.deltas, model.Delta{Type: kind, Text: text})
}

func (t *turn) argue(call int, text string) {
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolArgument, Index: call, Text: text})
}

func (t *turn) echo(block any) error {
	echo, err := wire.Encode(name, block)
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: echo})
	return err
}

func (t *turn) report(u *usage) {
	if u != nil {
		t.counts.take(u)
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaUsage, Usage: t.counts.core()})
	}
}

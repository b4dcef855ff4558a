package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// turn makes deltas of the chunks of one stream.
type turn struct {
	echo    echoForm
	deltas  []model.Delta // of the last chunk
	calls   []call        // by the index of our deltas
	byWire  map[int]int   // the server's index -> ours
	finish  string        // the last finish reason that said something
	refused bool
	thinks  bool    // reasoning came whose echo did not
	details details // what OpenRouter wants back
	held    int     // bytes of calls that are not shown yet: their details may follow them
	unnamed int     // bytes of arguments that came before the name of their call
	said    wire.TurnText
	sources map[string]bool // addresses that were cited for the whole message
}

// call is a tool call whose pieces come in.
type call struct {
	id, name string
	started  bool   // the name is known
	shown    bool   // there was a delta of it
	pending  []byte // arguments that are not shown yet
}

// Add implements wire.Turn.
func (t *turn) Add(e wire.Event) (deltas []model.Delta, last bool, err error) {
	if string(e.Data) == "[DONE]" {
		t.deltas = t.deltas[:0]
		t.endReasoning(true)
		return t.deltas, true, nil
	}
	var c chunk
	if e.Name != "error" || bytes.HasPrefix(e.Data, []byte("{")) && !json.Valid(e.Data) {
		if err := json.Unmarshal(e.Data, &c); err != nil { // what a broken stream leaves
			return nil, false, fmt.Errorf("read a chunk: %w", err)
		}
	}
	if e.Name == "error" || c.isError() {
		f, _ := parseFailure(0, e.Data)
		return nil, false, f
	}
	deltas = t.add(&c)
	if t.held+t.unnamed+t.details.size > maxHeld {
		return nil, false, wire.Failure{Kind: model.KindProvider, Message: "the calls and the reasoning details of a turn are longer than 16 MB"}
	}
	return deltas, false, nil
}

// Finished implements wire.Turn: only usage can follow a finish reason, so that a stream
// that breaks off there is a complete turn.
func (t *turn) Finished() bool { return t.finish != "" }

// add takes a chunk and returns its deltas, valid until the next call.
func (t *turn) add(c *chunk) []model.Delta {
	t.deltas = t.deltas[:0]
	for i := range c.Choices {
		if c.Choices[i].Index == 0 { // one choice was asked for
			t.addChoice(&c.Choices[i])
		}
	}
	t.addSources(c)
	if c.Usage != nil {
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaUsage, Usage: c.Usage.core()})
	}
	return t.deltas
}

func (t *turn) addChoice(c *choice) {
	if text := c.Delta.reasoning(); text != "" {
		t.addText(model.DeltaReasoning, text)
		t.thinks = true
	}
	if t.echo == echoDetails {
		for _, piece := range c.Delta.ReasoningDetails {
			t.details.add(piece)
		}
	}
	for _, piece := range c.Delta.Content {
		if piece.thought {
			t.addText(model.DeltaReasoning, piece.text)
		} else {
			t.addText(model.DeltaText, piece.text)
		}
	}
	t.addText(model.DeltaText, c.Delta.Refusal)
	t.refused = t.refused || c.Delta.Refusal != ""
	t.addCitations(c.Delta.Annotations)
	for i := range c.Delta.ToolCalls {
		t.endReasoning(false)
		t.addCall(&c.Delta.ToolCalls[i])
	}
	if c.FinishReason != "" {
		t.finish = c.FinishReason
		t.endReasoning(true)
	}
}

// endReasoning adds the part of the reasoning that the server requires back, before the
// part that follows it: a text, a call, or at the end of the turn the held calls.
func (t *turn) endReasoning(last bool) {
	switch {
	case t.echo == echoDetails && !last:
		return
	case t.echo == echoDetails:
		if encoded := t.details.encoded(); encoded != nil {
			t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: encoded})
		}
		t.details = details{}
	case t.thinks && (t.echo == echoContent || t.echo == echoRequired):
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: contentEcho})
	}
	t.thinks = false
	if t.held > 0 {
		for i := range t.calls {
			t.show(i)
		}
		t.held = 0
	}
}

func (t *turn) addText(kind model.DeltaType, text string) {
	if text == "" {
		return
	}
	if kind == model.DeltaText {
		t.endReasoning(false)
		t.said.Add(text)
	}
	t.deltas = append(t.deltas, model.Delta{Type: kind, Text: text})
}

// show adds the deltas of what is new of a call.
func (t *turn) show(i int) {
	c := &t.calls[i]
	if !c.started {
		return
	}
	if !c.shown {
		c.shown = true
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolStart, Index: i, CallID: c.id, Name: c.name})
	}
	if len(c.pending) > 0 {
		t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolArgument, Index: i, Text: string(c.pending)})
		c.pending = nil
	}
}

// addCall takes a piece of a tool call. A call starts when its name is known.
func (t *turn) addCall(d *callDelta) {
	i := t.find(d)
	c := &t.calls[i]
	c.pending = append(c.pending, d.Function.Arguments...)
	if !c.started {
		if d.ID != "" {
			c.id = d.ID
		}
		c.name = d.Function.Name
		if c.started = c.name != ""; !c.started {
			t.unnamed += len(d.Function.Arguments)
		}
	}
	if t.echo == echoDetails && t.finish == "" {
		t.held += len(d.ID) + len(d.Function.Name) + len(d.Function.Arguments)
		return
	}
	t.show(i)
}

// find returns our index of the call that d belongs to, new if need be. The
// server's index decides, unless a name comes with an id that is not the one of
// the call at that index: servers that always say 0 mean another call then.
func (t *turn) find(d *callDelta) int {
	last := len(t.calls) - 1
	at, known := last, last >= 0
	if d.Index != nil {
		at, known = t.byWire[*d.Index]
	}
	other := known && d.ID != "" && d.Function.Name != "" && t.calls[at].started && t.calls[at].id != d.ID
	if known && !other {
		return at
	}
	t.calls = append(t.calls, call{})
	if d.Index != nil {
		if t.byWire == nil {
			t.byWire = make(map[int]int)
		}
		t.byWire[*d.Index] = last + 1
	}
	return last + 1
}

// Stop implements wire.Turn. Complete calls count with any finish reason; but a limit, a
// filter or an unknown reason may have truncated them.
func (t *turn) Stop() (core.StopReason, error) {
	for i := range t.calls {
		if !t.calls[i].started {
			return "", fmt.Errorf("tool call %d has no name", i)
		}
	}
	switch t.finish {
	case "", "stop", "tool_calls", "function_call", "eos", "eos_token":
		switch {
		case len(t.calls) > 0:
			return core.StopToolUse, nil
		case t.refused:
			return core.StopContentFilter, nil
		}
		return core.StopEndTurn, nil
	case "length", "model_length": // the second: Mistral
		return core.StopMaxTokens, nil
	case "content_filter":
		return core.StopContentFilter, nil
	case "stop_sequence":
		return core.StopSequence, nil
	case "error", "abort", "insufficient_system_resource": // OpenRouter, vLLM, DeepSeek
		return "", errors.New("the server gave up: finish reason " + t.finish)
	}
	return core.StopOther, nil
}

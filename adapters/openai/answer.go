package openai

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// answer turns the chunks of one stream into deltas.
type answer struct {
	deltas  []model.Delta // of the last chunk
	calls   []call        // by the index of our deltas
	byWire  map[int]int   // the server's index -> ours
	finish  string        // the last finish reason that said something
	refused bool
	began   bool // a delta was made
}

// call is a tool call whose pieces come in.
type call struct {
	id      string
	started bool
	pending string // arguments that came before the name
}

// add takes a chunk and returns its deltas, valid until the next call.
func (a *answer) add(c *chunk) []model.Delta {
	a.deltas = a.deltas[:0]
	for i := range c.Choices {
		if c.Choices[i].Index == 0 { // one choice was asked for
			a.addChoice(&c.Choices[i])
		}
	}
	if c.Usage != nil {
		a.deltas = append(a.deltas, model.Delta{Type: model.DeltaUsage, Usage: c.Usage.core()})
	}
	a.began = a.began || len(a.deltas) > 0
	return a.deltas
}

func (a *answer) addChoice(c *choice) {
	a.addText(model.DeltaReasoning, c.Delta.reasoning())
	a.addText(model.DeltaText, c.Delta.Content)
	a.addText(model.DeltaText, c.Delta.Refusal)
	a.refused = a.refused || c.Delta.Refusal != ""
	for i := range c.Delta.ToolCalls {
		a.addCall(&c.Delta.ToolCalls[i])
	}
	if c.FinishReason != "" {
		a.finish = c.FinishReason
	}
}

func (a *answer) addText(t model.DeltaType, text string) {
	if text != "" {
		a.deltas = append(a.deltas, model.Delta{Type: t, Text: text})
	}
}

// addCall takes a piece of a tool call. A call starts when its name is known.
func (a *answer) addCall(d *callDelta) {
	i := a.find(d)
	c := &a.calls[i]
	text := c.pending + string(d.Function.Arguments)
	if !c.started {
		if d.ID != "" {
			c.id = d.ID
		}
		if d.Function.Name == "" {
			c.pending = text
			return
		}
		c.started, c.pending = true, ""
		a.deltas = append(a.deltas, model.Delta{Type: model.DeltaToolStart, Index: i, CallID: c.id, Name: d.Function.Name})
	}
	if text != "" {
		a.deltas = append(a.deltas, model.Delta{Type: model.DeltaToolArgument, Index: i, Text: text})
	}
}

// find returns our index of the call that d belongs to, new if need be. The
// server's index decides, unless a name comes with an id that is not the one of
// the call at that index: servers that always say 0 mean another call then.
func (a *answer) find(d *callDelta) int {
	last := len(a.calls) - 1
	at, known := last, last >= 0
	if d.Index != nil {
		at, known = a.byWire[*d.Index]
	}
	other := known && d.ID != "" && d.Function.Name != "" && a.calls[at].started && a.calls[at].id != d.ID
	if known && !other {
		return at
	}
	a.calls = append(a.calls, call{})
	if d.Index != nil {
		if a.byWire == nil {
			a.byWire = make(map[int]int)
		}
		a.byWire[*d.Index] = last + 1
	}
	return last + 1
}

// end returns the last delta of a stream that ended as the protocol says, or
// the *model.Error of an answer that is broken all the same.
func (a *answer) end() (model.Delta, error) {
	for i := range a.calls {
		if !a.calls[i].started {
			return model.Delta{}, interrupted(fmt.Sprintf("tool call %d has no name", i))
		}
	}
	stop, err := a.stop()
	return model.Delta{Type: model.DeltaStop, Stop: stop}, err
}

// stop maps the finish reason. Calls that are there count, whatever it says;
// but a limit, a filter or an unknown reason may have cut them.
func (a *answer) stop() (core.StopReason, error) {
	switch a.finish {
	case "", "stop", "tool_calls", "function_call", "eos", "eos_token":
		switch {
		case len(a.calls) > 0:
			return core.StopToolUse, nil
		case a.refused:
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
		return "", interrupted("the server gave up: finish reason " + a.finish)
	}
	return core.StopOther, nil
}

// parseChunk reads the data of an event. A chunk that is no JSON object is what
// a broken stream leaves.
func parseChunk(data []byte) (chunk, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return chunk{}, interrupted(fmt.Sprintf("read a chunk: %v", err))
	}
	return c, nil
}

func interrupted(message string) error {
	return &model.Error{Kind: model.KindInterrupted, Message: "openai: " + message}
}

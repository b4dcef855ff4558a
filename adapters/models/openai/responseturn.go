package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// responseEvent is the data of one event of a stream of the Responses API. Events and
// members that are not here are ignored.
type responseEvent struct {
	Type         string       `json:"type"`
	OutputIndex  int          `json:"output_index"`
	ItemID       string       `json:"item_id"`
	SummaryIndex int          `json:"summary_index"`
	ContentIndex int          `json:"content_index"`
	Delta        looseText    `json:"delta"`
	Arguments    fragmentText `json:"arguments"`
	Item         responseItem `json:"item"`
	Response     response     `json:"response"`

	Annotation wire.Loose[responseCitation] `json:"annotation"`
}

type responseItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments fragmentText    `json:"arguments"`
	Encrypted string          `json:"encrypted_content"`
	Summary   json.RawMessage `json:"summary"`
	Content   json.RawMessage `json:"content"`
	Phase     looseText       `json:"phase"`
}

type response struct {
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *responseUsage `json:"usage"`
}

type responseUsage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	InputDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// responseTurn makes deltas of the events of one stream.
type responseTurn struct {
	deltas  []model.Delta
	calls   []responseCall // by the index of our deltas
	echo    json.RawMessage
	spoke   bool // text came of the newest message
	refused bool
	end     response
	said    wire.TurnText
	parts   map[[2]int]int // places of the text parts in what was said, by output_index and content_index
}

type responseCall struct {
	output int // output_index
	item   string
	sent   strings.Builder // arguments
}

// Add implements wire.Turn.
func (t *responseTurn) Add(e wire.Event) (deltas []model.Delta, last bool, err error) {
	t.deltas = t.deltas[:0]
	if string(e.Data) == "[DONE]" {
		return nil, false, nil // of servers that end every stream so: it says nothing of the turn
	}
	var event responseEvent
	if err := json.Unmarshal(e.Data, &event); err != nil {
		return nil, false, fmt.Errorf("read an event: %w", err)
	}
	switch event.Type {
	case "error":
		f, _ := parseFailure(0, e.Data)
		return nil, false, f
	case "response.failed":
		return nil, false, event.Response.failure()
	case "response.completed", "response.incomplete":
		t.end = event.Response
		if event.Type == "response.incomplete" {
			t.end.Status = "incomplete"
		}
		if u := event.Response.Usage; u != nil {
			t.deltas = append(t.deltas, model.Delta{Type: model.DeltaUsage, Usage: u.core()})
		}
		return t.deltas, true, nil
	}
	err = t.add(&event)
	return t.deltas, false, err
}

func (t *responseTurn) add(e *responseEvent) error {
	switch e.Type {
	case "response.output_text.delta":
		t.part(e)
		t.say(model.DeltaText, string(e.Delta))
	case "response.refusal.delta":
		t.say(model.DeltaText, string(e.Delta))
		t.refused = true
	case "response.output_text.annotation.added":
		t.cite(&e.Annotation.Value, t.part(e))
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			t.say(model.DeltaReasoning, "\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		t.say(model.DeltaReasoning, string(e.Delta))
	case "response.output_item.added", "response.output_item.done":
		return t.addItem(e)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		i := t.find(e.OutputIndex, e.ItemID)
		if i < 0 {
			return fmt.Errorf("arguments of item %d, which is not a call", e.OutputIndex)
		}
		if e.Type == "response.function_call_arguments.done" {
			return t.whole(i, string(e.Arguments))
		}
		t.argue(i, string(e.Delta))
	}
	return nil
}

// say adds a text. Reasoning between calls has no place in a turn and is not shown; its
// echo goes with the call that follows it.
func (t *responseTurn) say(kind model.DeltaType, text string) {
	if text != "" && (kind == model.DeltaText || len(t.calls) == 0) {
		t.spoke = kind == model.DeltaText
		if kind == model.DeltaText {
			t.said.Add(text)
		}
		t.deltas = append(t.deltas, model.Delta{Type: kind, Text: text})
	}
}

// part is the place of the event's text part in what was said. A part that is new begins
// now.
func (t *responseTurn) part(e *responseEvent) int {
	at := [2]int{e.OutputIndex, e.ContentIndex}
	from, known := t.parts[at]
	if !known {
		if t.parts == nil {
			t.parts = map[[2]int]int{}
		}
		from = t.said.Len()
		t.parts[at] = from
	}
	return from
}

// addItem takes an item that begins or is complete.
func (t *responseTurn) addItem(e *responseEvent) error {
	done := e.Type == "response.output_item.done"
	switch {
	case e.Item.Type == "reasoning" && done && (e.Item.Encrypted != "" || isList(e.Item.Content)):
		return t.keep(e.Item)
	case e.Item.Type == "message":
		if done && t.spoke && e.Item.Phase != "" {
			echo, _ := json.Marshal(textEcho{string(e.Item.Phase)}) // a text has always a form
			t.deltas = append(t.deltas, model.Delta{Type: model.DeltaText, Echo: echo})
		}
		t.spoke = false
	case e.Item.Type == "function_call":
		i := t.find(e.OutputIndex, e.Item.ID)
		if i < 0 {
			if e.Item.Name == "" {
				return fmt.Errorf("the call of item %d has no name", e.OutputIndex)
			}
			i, t.spoke = len(t.calls), false
			t.calls = append(t.calls, responseCall{output: e.OutputIndex, item: e.Item.ID})
			t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolStart, Index: i, CallID: e.Item.CallID, Name: e.Item.Name, Echo: t.echo})
			t.echo = nil
		}
		if done {
			return t.whole(i, string(e.Item.Arguments))
		}
	}
	return nil
}

// keep makes the echo of a reasoning item that is complete.
func (t *responseTurn) keep(item responseItem) error {
	kept := reasoningItem{Type: "reasoning", ID: item.ID, Summary: item.Summary, Encrypted: item.Encrypted}
	if item.Encrypted == "" {
		kept.Content = item.Content
	}
	if len(kept.Summary) == 0 || string(kept.Summary) == "null" {
		kept.Summary = json.RawMessage("[]")
	}
	echo, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keep a reasoning item: %w", err)
	}
	if len(t.calls) > 0 {
		t.echo = echo
		return nil
	}
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaReasoning, Echo: echo})
	return nil
}

// isList reports whether content has a part.
func isList(content json.RawMessage) bool {
	var parts []json.RawMessage
	return json.Unmarshal(content, &parts) == nil && len(parts) > 0
}

// find returns our index of a call, -1 if there is no such call.
func (t *responseTurn) find(output int, item string) int {
	for i := range t.calls {
		if t.calls[i].output == output || item != "" && t.calls[i].item == item {
			return i
		}
	}
	return -1
}

// argue adds a piece of the arguments of call i.
func (t *responseTurn) argue(i int, text string) {
	if text == "" {
		return
	}
	t.calls[i].sent.WriteString(text)
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaToolArgument, Index: i, Text: text})
}

// whole adds the rest of the arguments of call i: servers send all of them at the end, or
// nothing else.
func (t *responseTurn) whole(i int, text string) error {
	sent := wire.JoinHalves(t.calls[i].sent.String())
	rest, more := strings.CutPrefix(text, sent)
	if !more {
		if text == "" {
			return nil // the event has none
		}
		return fmt.Errorf("the arguments of call %d differ from their pieces", i)
	}
	t.argue(i, rest)
	return nil
}

// Finished implements wire.Turn: nothing but the end itself ends a response.
func (t *responseTurn) Finished() bool { return false }

// Stop implements wire.Turn.
func (t *responseTurn) Stop() (core.StopReason, error) {
	switch {
	case t.end.Status == "incomplete":
		switch t.end.Incomplete.Reason {
		case "max_output_tokens", "max_tokens":
			return core.StopMaxTokens, nil
		case "content_filter":
			return core.StopContentFilter, nil
		}
		return core.StopOther, nil
	case len(t.calls) > 0:
		return core.StopToolUse, nil
	case t.refused:
		return core.StopContentFilter, nil
	}
	return core.StopEndTurn, nil
}

// failure is what a failed response says.
func (r response) failure() wire.Failure {
	if len(r.Error) == 0 || string(r.Error) == "null" {
		return wire.Failure{Kind: model.KindProvider, Message: "the response failed without a reason"}
	}
	f, _ := parseFailure(0, r.Error)
	return f
}

func (u responseUsage) core() core.Usage {
	return core.Usage{
		Input: u.Input, Output: u.Output,
		CacheRead: u.InputDetails.Cached, CacheWrite: u.InputDetails.CacheWrite, Reasoning: u.OutputDetails.Reasoning,
	}
}

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/thread"
)

// turnID, callID and resultID derive ids from where a thing stands, so that the
// order of completion never shows in them.
func turnID(run core.ID, step int) string { return run.String() + "." + strconv.Itoa(step) }

func callID(run core.ID, step, index int) string {
	return "call_" + run.String()[24:] + "_" + strconv.Itoa(step) + "_" + strconv.Itoa(index)
}

func resultID(run core.ID, step, index int) string {
	return turnID(run, step) + "." + strconv.Itoa(index)
}

// infer streams one inference and answers the assistant turn, whose id is given.
func (w *work) infer(ctx context.Context, number int, id string) (core.Message, error) {
	request := model.Request{
		Model: w.agent.ModelName, System: w.agent.Spec.SystemPrompt, Messages: w.conversation.messages,
		Tools: w.agent.ModelTools, MaxTokens: w.agent.Spec.MaxTokens, Temperature: w.agent.Spec.Temperature,
	}
	t := turnBuilder{work: w, number: number, id: id}
	w.env.Reach(env.PointModel, env.Before)
	err := env.Protect(func() error {
		for delta, err := range w.agent.Model.Stream(ctx, request) {
			if err != nil {
				return err
			}
			if err := t.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	w.env.Reach(env.PointModel, env.After)
	if ctx.Err() != nil {
		return core.Message{}, context.Cause(ctx)
	}
	if err == nil && t.stop == "" {
		err = model.ErrTruncated
	}
	switch {
	case err == nil:
		return t.finish(), nil
	case passing(err) && w.head.Claim.Attempts < thread.MaxAttempts:
		return core.Message{}, fmt.Errorf("inference: %w", err)
	}
	return core.Message{}, endWith("model", modelError(err))
}

// passing reports whether another delivery of the step may fare better.
func passing(err error) bool { return model.Transient(err) || errors.Is(err, model.ErrTruncated) }

// modelError keeps a provider's panic value out of what a client reads.
func modelError(err error) error {
	var p *env.PanicError
	if errors.As(err, &p) {
		return errors.New("the model adapter panicked")
	}
	return err
}

// turnBuilder collects the deltas of one answer.
type turnBuilder struct {
	work   *work
	number int
	id     string
	blocks []core.Block
	text   strings.Builder // of the open block
	kind   core.BlockType  // of the open block; "": none
	calls  []callBuilder
	usage  *core.Usage
	stop   core.StopReason
}

type callBuilder struct {
	index     int // the provider's
	id, name  string
	arguments strings.Builder
}

func (t *turnBuilder) add(d model.Delta) error {
	if t.stop != "" && d.Type != model.DeltaUsage && d.Type != model.DeltaStop {
		return fmt.Errorf("model sent a delta of type %d after its stop", d.Type)
	}
	switch d.Type {
	case model.DeltaText:
		t.say(core.BlockText, core.EventTextDelta, d.Text)
	case model.DeltaReasoning:
		t.say(core.BlockReasoning, core.EventReasoningDelta, d.Text)
		if d.Echo != nil {
			t.close()
			t.blocks[len(t.blocks)-1].Echo = d.Echo
			t.blocks[len(t.blocks)-1].Origin = t.work.agent.ModelName
		}
	case model.DeltaToolStart:
		t.start(d)
	case model.DeltaToolArgument:
		i := t.find(d.Index)
		if i < 0 {
			return fmt.Errorf("model sent arguments for call %d, which it has not started", d.Index)
		}
		t.calls[i].arguments.WriteString(d.Text)
		if d.Text != "" {
			t.emit(core.Event{Type: core.EventToolCallDelta, CallID: t.calls[i].id, Delta: d.Text}, len(t.blocks)+i, t.calls[i].arguments.Len())
		}
	case model.DeltaUsage:
		usage := d.Usage
		t.usage = &usage
	case model.DeltaStop:
		t.stop = d.Stop
		if t.stop == "" {
			t.stop = core.StopOther
		}
	}
	return nil
}

// say appends to the open block, or opens one of the kind.
func (t *turnBuilder) say(kind core.BlockType, event core.EventType, text string) {
	if t.kind != kind {
		t.close()
		t.kind = kind
	}
	t.text.WriteString(text)
	if text != "" {
		t.emit(core.Event{Type: event, Delta: text}, len(t.blocks), t.text.Len())
	}
}

func (t *turnBuilder) close() {
	if t.kind != "" {
		t.blocks = append(t.blocks, core.Block{Type: t.kind, Text: t.text.String()})
	}
	t.kind = ""
	t.text.Reset()
}

func (t *turnBuilder) start(d model.Delta) {
	t.close()
	id := d.CallID
	if id == "" || t.taken(id) {
		id = callID(t.work.record.ID, t.number, len(t.calls))
	}
	t.calls = append(t.calls, callBuilder{index: d.Index, id: id, name: d.Name})
	t.emit(core.Event{Type: core.EventToolCallStart, CallID: id, Name: d.Name}, len(t.blocks)+len(t.calls)-1, 0)
}

// taken reports whether the conversation has the call id: a provider may repeat
// one, and clients tell calls apart by them.
func (t *turnBuilder) taken(id string) bool {
	for _, c := range t.calls {
		if c.id == id {
			return true
		}
	}
	for _, m := range t.work.conversation.messages {
		for _, c := range m.ToolCalls {
			if c.ID == id {
				return true
			}
		}
	}
	return false
}

// find answers the newest call of the provider's index: some give all the same.
func (t *turnBuilder) find(index int) int {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if t.calls[i].index == index {
			return i
		}
	}
	return -1
}

func (t *turnBuilder) emit(e core.Event, block, end int) {
	e.MessageID = t.id
	t.work.events.emitAt(e, block, end)
}

// finish answers the whole turn and announces its calls and usage.
func (t *turnBuilder) finish() core.Message {
	t.close()
	m := core.Message{
		ID: t.id, Role: core.RoleAssistant, Content: t.blocks,
		RunID: t.work.record.ID, Step: t.number, Usage: t.usage, Model: t.work.agent.ModelName,
		StopReason: t.stop, CreatedAt: t.work.env.Millis(),
	}
	for i := range t.calls {
		c := &t.calls[i]
		call := core.ToolCall{ID: c.id, Name: c.name, Arguments: arguments(c.arguments.String())}
		m.ToolCalls = append(m.ToolCalls, call)
		t.emit(core.Event{Type: core.EventToolCallReady, CallID: call.ID, Name: call.Name, Arguments: call.Arguments}, len(t.blocks)+i, c.arguments.Len())
	}
	t.emit(core.Event{Type: core.EventInferenceComplete, Model: m.Model, Usage: m.Usage, StopReason: m.StopReason}, len(t.blocks)+len(t.calls), 0)
	return m
}

// arguments keeps what a model sent: JSON as it is, nothing as an empty object,
// broken JSON as a JSON string, which no schema of an object accepts.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	return quoted
}

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
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

// modelCalls is how often a step calls its model over all its deliveries
// together: once, and two more times.
const modelCalls = 3

// maxRetryAfter is the longest pause that a provider may ask for.
const maxRetryAfter = 5 * time.Minute

// modelRetry is a model call that failed and is made again, by another
// delivery.
type modelRetry struct {
	wait  time.Duration
	cause error
}

func (r *modelRetry) Error() string { return "inference: " + r.cause.Error() }
func (r *modelRetry) Unwrap() error { return r.cause }

// callsSoFar is how many model calls of the step have failed in earlier
// deliveries. A claim that was lost may have cost one, but never the last.
func callsSoFar(failed, lost uint8) uint8 {
	if failed >= modelCalls-1 {
		return failed
	}
	return uint8(min(int(failed)+int(lost), modelCalls-1))
}

// infer streams one inference and returns the assistant turn, whose id is given.
// Deltas are emitted as they come, before anything is stored: what a reader saw
// of a turn that is never committed is announced as lost by the next attempt's
// fence. When the context ends, what came is not an answer, whatever the adapter
// makes of it; it stays in unsaid for the last words of a cancelled run.
func (p *step) infer(ctx context.Context, number int, id string) (core.Message, error) {
	p.modelFailed = callsSoFar(p.head.Run.ModelFailed, p.head.Run.ModelLost)
	request := model.Request{
		Model: p.agent.ModelName, System: p.agent.Spec.SystemPrompt, Messages: p.prompt(),
		Tools: p.agent.ModelTools, MaxTokens: p.agent.Spec.MaxTokens, Temperature: p.agent.Spec.Temperature,
	}
	t := &turnBuilder{step: p, number: number, id: id, steered: len(p.draft.consumed) > 0}
	p.unsaid = t
	p.env.Reach(env.PointModel, env.Before)
	err := env.Protect(func() error {
		for delta, err := range p.agent.Model.Stream(ctx, request) {
			if err != nil {
				return err
			}
			if err := t.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	p.env.Reach(env.PointModel, env.After)
	if ctx.Err() != nil {
		return core.Message{}, context.Cause(ctx)
	}
	if err == nil && t.stop == "" {
		err = model.ErrTruncated
	}
	if err == nil {
		return t.finish(), nil
	}
	return core.Message{}, p.inferFailed(ctx, err)
}

// inferFailed decides what a failed model call comes to. The retry is another
// delivery's: the claim is free while the provider recovers, and a process that
// stops meanwhile loses nothing. The longer of the provider's pause and ours
// counts.
func (p *step) inferFailed(ctx context.Context, err error) error {
	p.modelFailed++
	var failure *model.Error
	wait := p.env.Jitter(min(backoffCap, backoffBase<<p.modelFailed))
	if errors.As(err, &failure) {
		if failure.RetryAfter > maxRetryAfter {
			return endWith("rate_limited", fmt.Errorf("the provider asks for a pause of %s, at most %s are waited: %w", failure.RetryAfter, maxRetryAfter, err))
		}
		wait = max(wait, failure.RetryAfter)
	}
	if !passing(err) || p.modelFailed >= modelCalls {
		return endWith("model", err)
	}
	p.log.WarnContext(ctx, "model call failed and is made again", append(p.attrs(), "failed", p.modelFailed, "wait", wait, "error", err)...)
	return &modelRetry{wait, err}
}

// prompt is the part of the conversation that the model is shown: the window,
// and before it what the run was asked, if it is older. Without that a long run
// would forget its task. It is cut again here, behind begin, because the draft
// has grown by what people said since.
func (p *step) prompt() []core.Message {
	messages := p.draft.messages[p.window.Cut(p.draft.messages):]
	opening := p.conversation.opening
	if p.conversation.run != p.id || opening == nil {
		return messages
	}
	for _, m := range messages {
		if m.Role == core.RoleUser && m.RunID == p.id {
			return messages
		}
	}
	return append([]core.Message{*opening}, messages...)
}

// passing reports whether another call of the model may fare better.
func passing(err error) bool { return model.Transient(err) || errors.Is(err, model.ErrTruncated) }

// turnBuilder collects the deltas of one inference into a turn, and emits them.
// Blocks come in the order in which their kind changes; calls after all blocks,
// in the order in which they start. Positions are those of the turn as it will
// be committed, so that a reader who reconnects finds them in the record.
type turnBuilder struct {
	steered bool // it also answers input of the inbox, which is not in the log before the turn is
	step    *step
	number  int
	id      string
	blocks  []core.Block
	text    strings.Builder // of the open block
	kind    core.BlockType  // of the open block; "": none
	calls   []callBuilder
	usage   *core.Usage
	stop    core.StopReason
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
			t.blocks[len(t.blocks)-1].Origin = t.step.agent.ModelName
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
		id = callID(t.step.id, t.number, len(t.calls))
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
	for _, m := range t.step.draft.messages {
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

func (t *turnBuilder) emit(e core.Event, block, end int) {
	e.MessageID = t.id
	t.step.events.emitAt(e, block, end)
}

// said is the text that came so far.
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

// finish returns the whole turn and announces its calls and usage.
func (t *turnBuilder) finish() core.Message {
	t.close()
	m := core.Message{
		ID: t.id, Role: core.RoleAssistant, Content: t.blocks,
		RunID: t.step.id, Step: t.number, Usage: t.usage, Model: t.step.agent.ModelName,
		StopReason: t.stop, CreatedAt: t.step.env.Millis(),
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

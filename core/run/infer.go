package run

import (
	"context"
	"fmt"
	"strconv"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
)

// Ids of what a run says. They are no random numbers: whoever repeats a step after
// a crash makes the same.
//
// turnID, callID and resultID derive ids from where a thing stands, so that the
// order of completion never shows in them.
func turnID(run core.ID, step int) string {
	var room [64]byte
	return string(strconv.AppendInt(append(run.AppendTo(room[:0]), '.'), int64(step), 10))
}

func callID(run core.ID, step, index int) string {
	var room, text [64]byte
	b := append(append(room[:0], "call_"...), run.AppendTo(text[:0])[24:]...)
	b = strconv.AppendInt(append(b, '_'), int64(step), 10)
	return string(strconv.AppendInt(append(b, '_'), int64(index), 10))
}

func resultID(run core.ID, step, index int) string {
	var room [80]byte
	b := strconv.AppendInt(append(run.AppendTo(room[:0]), '.'), int64(step), 10)
	return string(strconv.AppendInt(append(b, '.'), int64(index), 10))
}

// infer calls the model until it has said a whole turn, and returns that; its id
// is given. Deltas are emitted as they come, before anything is stored: what a
// reader saw of a turn that is never committed is announced as lost by the next
// attempt's fence. A call that fails is made again here or by another delivery,
// see callFailed.
//
// When the context ends, what came is not a turn, whatever the adapter makes
// of it, and no failed call either; it stays in unsaid for the last words of a
// cancelled run.
func (m *machine) infer(ctx context.Context, number int, id string) (*core.Message, error) {
	// Kept before anything can fail: a nack says how often the model has.
	t := &turnBuilder{draft: m.draft, number: number, id: id, steered: len(m.consumed) > 0}
	m.unsaid = t
	t.failed = callsSoFar(m.head.Run.ModelFailed, m.head.Run.ModelLost, t.modelCalls())
	if t.failed >= t.modelCalls() { // the delivery that made the last call could not store the run's end
		return nil, endWith("model", fmt.Errorf("the model has failed %d times", t.failed))
	}
	for {
		err := t.callModel(ctx)
		// Looked at first: a stream that ends early because its context has looks like
		// a whole turn to some adapters, and like a failure to others.
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			err = t.callFailed(ctx, err)
		}
		if err != nil {
			return nil, err
		}
		if t.stop != "" {
			return t.complete(), nil
		}
	}
}

// callModel makes one call of the model and adds what it says to the turn. A
// stream that ends without a stop is a failure. The stream runs in this goroutine,
// so that a delta is emitted before the next one is asked for; a panic of the
// adapter is an error like any other.
func (t *turnBuilder) callModel(ctx context.Context) error {
	request := t.request() // before the point: a crash there has cost no call
	t.draft.env.Reach(env.PointModel, env.Before)
	err := env.Protect(func() error {
		for delta, err := range t.draft.agent.Model.Stream(ctx, request) {
			if err != nil {
				return err
			}
			if err := t.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	t.draft.env.Reach(env.PointModel, env.After)
	if err == nil && t.stop == "" {
		return model.ErrTruncated
	}
	return err
}

// request is what the model is asked for a turn: all of it, or what is missing
// behind the text that a failed call has left. The two differ in nothing but the
// last two messages.
func (t *turnBuilder) request() model.Request {
	messages := t.draft.prompt()
	if said, ok := t.cutOff(); ok {
		note := core.UserMessage(t.id+".continue", model.ContinueNote)
		note.RunID = t.draft.id
		messages = append(messages[:len(messages):len(messages)], said, note)
	}
	return model.Request{
		Model: t.draft.agent.ModelName, System: t.draft.agent.Spec.SystemPrompt, Messages: messages,
		Tools: t.draft.agent.ModelTools, MaxTokens: t.draft.agent.Spec.MaxTokens, Temperature: t.draft.agent.Spec.Temperature,
	}
}

// prompt is the part of the conversation that the model is shown: the window,
// and before it what the run was asked, if it is older. Without that a long run
// would forget its task. Never longer than the window and one: the model's limit is
// the window's to keep. It is cut again here, behind begin, because the draft
// has grown by what people said since.
func (d *draft) prompt() []core.Message {
	messages := d.messages[d.window.Cut(d.messages):]
	opening := d.conversation.opening
	if d.conversation.run != d.id || opening == nil {
		return messages
	}
	for _, m := range messages {
		if m.Role == core.RoleUser && m.RunID == d.id {
			return messages
		}
	}
	return append([]core.Message{*opening}, messages...)
}

package run

import (
	"context"
	"fmt"
	"strconv"

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

// infer calls the model until it has said a whole turn, and returns that; its id
// is given. Deltas are emitted as they come, before anything is stored: what a
// reader saw of a turn that is never committed is announced as lost by the next
// attempt's fence. A call that fails is made again here or by another delivery,
// see callFailed.
//
// When the context ends, what came is not an answer, whatever the adapter makes
// of it, and no failed call either; it stays in unsaid for the last words of a
// cancelled run.
func (p *step) infer(ctx context.Context, number int, id string) (core.Message, error) {
	p.modelFailed = callsSoFar(p.head.Run.ModelFailed, p.head.Run.ModelLost, p.modelCalls())
	if p.modelFailed >= p.modelCalls() { // the delivery that made the last call could not store the run's end
		return core.Message{}, endWith("model", fmt.Errorf("the model has failed %d times", p.modelFailed))
	}
	t := &turnBuilder{step: p, number: number, id: id, steered: len(p.draft.consumed) > 0}
	p.unsaid = t
	for {
		err := p.callModel(ctx, t)
		if ctx.Err() != nil {
			return core.Message{}, context.Cause(ctx)
		}
		if err != nil {
			err = p.callFailed(ctx, t, err)
		}
		if err != nil {
			return core.Message{}, err
		}
		if t.stop != "" {
			return t.finish(), nil
		}
	}
}

// callModel makes one call of the model and adds what it says to the turn. A
// stream that ends without a stop is a failure.
func (p *step) callModel(ctx context.Context, t *turnBuilder) error {
	request := p.request(t)
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
	if err == nil && t.stop == "" {
		return model.ErrTruncated
	}
	return err
}

// request is what the model is asked for a turn: all of it, or what is missing
// behind the text that a failed call has left. The two differ in nothing but the
// last two messages.
func (p *step) request(t *turnBuilder) model.Request {
	messages := p.prompt()
	if said, ok := t.cutOff(); ok {
		note := core.UserMessage(t.id+".continue", model.ContinueNote)
		note.RunID = p.id
		messages = append(messages[:len(messages):len(messages)], said, note)
	}
	return model.Request{
		Model: p.agent.ModelName, System: p.agent.Spec.SystemPrompt, Messages: messages,
		Tools: p.agent.ModelTools, MaxTokens: p.agent.Spec.MaxTokens, Temperature: p.agent.Spec.Temperature,
	}
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

// naturalEnd is the end of a run whose model came to one by itself. A turn that
// was cut short says so in the code: to a client it reads like any other.
func naturalEnd(turn core.Message) *core.Termination {
	end := &core.Termination{Type: core.TerminationNatural}
	switch turn.StopReason {
	case core.StopMaxTokens, core.StopContentFilter, core.StopContextOverflow:
		end.Code = string(turn.StopReason)
	}
	return end
}

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

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
	t := &turnBuilder{draft: &m.draft, number: number, id: id, steered: len(m.draft.consumed) > 0}
	m.unsaid = t
	m.holder.account.StartTurn(m.holder.head.Seq)
	t.pool = m.draft.chooseMember(number)
	t.failed = callsSoFar(m.holder.head.Run.ModelFailed, m.holder.head.Run.ModelLost, t.modelCalls())
	if t.failed >= t.modelCalls() { // the delivery that made the last call could not store the run's end
		return nil, endWith("model", fmt.Errorf("the model has failed %d times", t.failed))
	}
	for {
		if err := t.ask(ctx); err != nil {
			return nil, err
		}
		err := t.callModel(ctx)
		// Looked at first: a stream that ends early because its context has looks like
		// a whole turn to some adapters, and like a failure to others.
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var refused *refusedError
		switch {
		case errors.As(err, &refused):
			err = t.refused(ctx, refused.wait)
		case err != nil:
			err = t.callFailed(ctx, err)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case t.stop == "": // it failed, and another call is made
		case t.atLimit():
			if err := t.goOn(ctx); err != nil {
				return nil, err
			}
		default:
			return t.complete(), nil
		}
	}
}

// ask makes the next request, of the model of the agent or the member of its pool whose
// turn it is.
func (t *turnBuilder) ask(ctx context.Context) (err error) {
	if t.member != t.draft.base.model {
		t.spent.Next()
		t.member = t.draft.base.model
	}
	if t.asked, err = t.request(ctx); err != nil {
		return err
	}
	t.spent.Name(t.member.Provider, t.asked.Model)
	return t.draft.priced(t.asked.Model)
}

// request is what the model is asked for a turn: all of it, or what is missing
// behind the text that stands of it. The two differ in nothing but the two messages
// behind the conversation. A document in the provider's own form can only be asked for
// as a whole: it is a block of its own, behind the half that was shown.
func (t *turnBuilder) request(ctx context.Context) (model.Request, error) {
	said, ok := t.cutOff()
	if ok && t.draft.base.agent.Spec.ResponseFormat != nil {
		anew, err := t.draft.prepare(ctx)
		if err != nil || anew.ResponseFormat != nil {
			t.endBlock()
			t.goesOn = false
			return anew, err
		}
	}
	if t.goesOn = ok; !ok {
		return t.draft.prepare(ctx)
	}
	note := core.UserMessage(t.id+".continue", model.ContinueNote)
	if t.continued > 0 && !t.broken {
		note = core.UserMessage(t.id+".continue", model.LimitNote)
	}
	note.RunID = t.draft.base.holder.id
	return t.draft.prepare(ctx, said, note)
}

// atLimit reports whether the model has stopped at its limit of tokens with
// something to go on from, and may go on: text, or a call that was cut off beside no
// complete one. A turn with a complete call is left as it is.
func (t *turnBuilder) atLimit() bool {
	if t.draft.base.agent.Spec.ResponseFormat != nil { // half a document is not gone on with, but begun anew
		return false
	}
	if t.stop != core.StopMaxTokens || t.continued >= t.draft.base.agent.Spec.Continuations() {
		return false
	}
	if len(t.calls) == 0 {
		return t.said() != ""
	}
	return !slices.ContainsFunc(t.calls, (*callBuilder).complete)
}

// goOn takes away what the limit has cut off, so that the next call of the model
// goes on from the text that stands. It is one turn: the same id, the same
// positions, and the tokens of all its calls.
func (t *turnBuilder) goOn(ctx context.Context) error {
	t.continued++
	t.stop, t.broken = "", false
	t.draft.base.holder.warn(ctx, "the turn has reached the limit of tokens, and goes on", "continuation", t.continued)
	return t.cutPieces(ctx)
}

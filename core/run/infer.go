package run

import (
	"context"
	"fmt"
	"slices"
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
	t := &turnBuilder{draft: m.draft, number: number, id: id, from: m.head.Seq, steered: len(m.consumed) > 0}
	m.unsaid = t
	t.failed = callsSoFar(m.head.Run.ModelFailed, m.head.Run.ModelLost, t.modelCalls())
	if t.failed >= t.modelCalls() { // the delivery that made the last call could not store the run's end
		return nil, endWith("model", fmt.Errorf("the model has failed %d times", t.failed))
	}
	for {
		var err error
		if t.asked, err = t.request(ctx); err != nil {
			return nil, err
		}
		if err := t.draft.priced(t.asked.Model); err != nil {
			return nil, err
		}
		err = t.callModel(ctx)
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
		switch {
		case t.stop == "": // it failed, and is called again
		case t.atLimit():
			if err := t.goOn(ctx); err != nil {
				return nil, err
			}
		default:
			return t.complete(), nil
		}
	}
}

// callModel makes one call of the model and adds what it says to the turn. A
// stream that ends without a stop is a failure. The stream runs in this goroutine,
// so that a delta is emitted before the next one is asked for; a panic of the
// adapter is an error like any other.
func (t *turnBuilder) callModel(ctx context.Context) error {
	t.draft.env.Reach(env.PointModel, env.Before)
	began := t.draft.env.Now()
	t.made++
	err := env.Protect(func() error {
		for delta, err := range t.draft.model.Model.Stream(ctx, t.asked) {
			if err != nil {
				return err
			}
			if err := t.add(delta); err != nil {
				return err
			}
		}
		return nil
	})
	t.took += t.draft.env.Now().Sub(began)
	t.draft.env.Reach(env.PointModel, env.After)
	if err == nil && t.stop == "" {
		return model.ErrTruncated
	}
	return err
}

// request is what the model is asked for a turn: all of it, or what is missing
// behind the text that stands of it. The two differ in nothing but the two messages
// behind the conversation.
func (t *turnBuilder) request(ctx context.Context) (model.Request, error) {
	said, ok := t.cutOff()
	if t.goesOn = ok; !ok {
		return t.draft.prepare(ctx)
	}
	note := core.UserMessage(t.id+".continue", model.ContinueNote)
	if t.continued > 0 && !t.broken {
		note = core.UserMessage(t.id+".continue", model.LimitNote)
	}
	note.RunID = t.draft.id
	return t.draft.prepare(ctx, said, note)
}

// atLimit reports whether the model has stopped at its limit of tokens with
// something to go on from, and may go on: text, or a call that was cut off beside no
// complete one. A turn with a complete call is left as it is.
func (t *turnBuilder) atLimit() bool {
	if t.stop != core.StopMaxTokens || t.continued >= t.draft.agent.Spec.Continuations() {
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
	t.draft.warn(ctx, "the turn has reached the limit of tokens, and goes on", "continuation", t.continued)
	return t.cutPieces(ctx)
}

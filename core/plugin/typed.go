package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/state"
)

// Action declares a kind of scheduled work, with a payload of type P that is stored as
// JSON. Each time that it is scheduled, a [state.Action] results. An action that is
// scheduled after the last occurrence of its phase is dropped with the run.
type Action[P any] struct {
	Phase core.Phase // at which it runs
	Name  string     // unique for the phase
}

// Schedule returns the command that schedules the action. A payload that JSON cannot
// express is the command's Err.
func (a Action[P]) Schedule(payload P) state.Command {
	raw, err := core.EncodeJSON(payload)
	if err != nil {
		return state.Command{Err: fmt.Errorf("encoding the payload of action %q: %w", a.Name, err)}
	}
	return state.Command{Actions: []state.Action{{Phase: a.Phase, Key: a.Name, Payload: raw}}}
}

// Handle registers the action's handler, which runs at the phase for which the action was
// scheduled. An error of it, or a payload that does not decode, is kept with the run's
// state and logged; the action is not retried, and the run continues.
//
// It holds even when the plugin's hooks are filtered out. An action that an earlier phase
// has scheduled for a tool phase runs once, with the first call that reaches the phase.
func (a Action[P]) Handle(r *Registrar, handle func(ctx context.Context, c HandlerContext, payload P) (state.Command, error)) {
	var run func(ctx context.Context, c HandlerContext, raw json.RawMessage) (state.Command, error)
	if handle != nil {
		run = func(ctx context.Context, c HandlerContext, raw json.RawMessage) (state.Command, error) {
			payload, err := decode[P](raw)
			if err != nil {
				return state.Command{}, err
			}
			return handle(ctx, c, payload)
		}
	}
	r.to.Add(registered.Part{Kind: registered.Action, Phase: a.Phase, Name: a.Name, Value: run})
}

// Effect declares a kind of thing to do in the world after the commit, with a payload
// of type P. Each time that it is emitted, a [state.Effect] results.
type Effect[P any] struct {
	Name string // unique in an agent
}

// Emit returns the command that emits the effect. A payload that JSON cannot express
// is the command's Err.
func (e Effect[P]) Emit(payload P) state.Command {
	raw, err := core.EncodeJSON(payload)
	if err != nil {
		return state.Command{Err: fmt.Errorf("encoding the payload of effect %q: %w", e.Name, err)}
	}
	return state.Command{Effects: []state.Effect{{Key: e.Name, Payload: raw}}}
}

// Handle registers the effect's handler, which acts on the world after the commit, at most
// once. An error of it, or a payload that does not decode, is logged; nothing is rolled
// back. It holds even when the plugin's hooks are filtered out.
func (e Effect[P]) Handle(r *Registrar, handle func(ctx context.Context, c HandlerContext, payload P) error) {
	var run func(ctx context.Context, c HandlerContext, raw json.RawMessage) error
	if handle != nil {
		run = func(ctx context.Context, c HandlerContext, raw json.RawMessage) error {
			payload, err := decode[P](raw)
			if err != nil {
				return err
			}
			return handle(ctx, c, payload)
		}
	}
	r.to.Add(registered.Part{Kind: registered.Effect, Name: e.Name, Value: run})
}

func decode[P any](raw json.RawMessage) (P, error) {
	var payload P
	if len(raw) == 0 {
		return payload, nil
	}
	if err := json.Unmarshal(raw, &payload); err != nil {
		return payload, core.Errorf(core.CodeCorrupt, "decoding the payload: %w", err)
	}
	return payload, nil
}

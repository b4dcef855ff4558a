package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Action declares a kind of scheduled work, with a payload of type P that is stored
// as JSON. Each time that it is scheduled, a [state.Action] results.
type Action[P any] struct {
	Phase core.Phase // at which it runs
	Name  string     // unique for the phase
}

// Schedule appends the action to the command. The only error is a payload that
// JSON cannot express.
func (a Action[P]) Schedule(c *state.Command, payload P) error {
	raw, err := core.EncodeJSON(payload)
	if err != nil {
		return fmt.Errorf("encoding the payload of action %q: %w", a.Name, err)
	}
	c.Actions = append(c.Actions, state.Action{Phase: a.Phase, Key: a.Name, Payload: raw})
	return nil
}

// Handle registers the action's handler; a payload that does not decode is a
// failure of the action.
func (a Action[P]) Handle(r *Registrar, handle func(ctx context.Context, c Context, payload P) (state.Command, error)) {
	if handle == nil {
		r.Action(a.Phase, a.Name, nil)
		return
	}
	r.Action(a.Phase, a.Name, func(ctx context.Context, c Context, raw json.RawMessage) (state.Command, error) {
		payload, err := decode[P](raw)
		if err != nil {
			return state.Command{}, err
		}
		return handle(ctx, c, payload)
	})
}

// Effect declares a kind of thing to do in the world after the commit, with a payload
// of type P. Each time that it is emitted, a [state.Effect] results.
type Effect[P any] struct {
	Name string // unique in an agent
}

// Emit appends the effect to the command. The only error is a payload that JSON
// cannot express.
func (e Effect[P]) Emit(c *state.Command, payload P) error {
	raw, err := core.EncodeJSON(payload)
	if err != nil {
		return fmt.Errorf("encoding the payload of effect %q: %w", e.Name, err)
	}
	c.Effects = append(c.Effects, state.Effect{Key: e.Name, Payload: raw})
	return nil
}

// Handle registers the effect's handler; a payload that does not decode is a
// failure of the effect.
func (e Effect[P]) Handle(r *Registrar, handle func(ctx context.Context, c Context, payload P) error) {
	if handle == nil {
		r.Effect(e.Name, nil)
		return
	}
	r.Effect(e.Name, func(ctx context.Context, c Context, raw json.RawMessage) error {
		payload, err := decode[P](raw)
		if err != nil {
			return err
		}
		return handle(ctx, c, payload)
	})
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

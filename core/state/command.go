package state

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Command is the result of a hook or tool: changes of the state, actions and effects. Its
// payloads are encoded, so it can be stored as it is: the results of tools carry commands
// until their round closes. The outcome of a command is a [Patch]. The zero Command does
// nothing.
type Command struct {
	Batch   Batch    `json:"batch,omitzero"`
	Actions []Action `json:"actions,omitempty"`
	Effects []Effect `json:"effects,omitempty"`

	// Err is the first thing that went wrong when the command was made: a value that
	// JSON cannot express. Nothing of such a command is applied; it becomes the error
	// of the hook or the call that returned it.
	Err error `json:"-"`
}

// Combine returns the command that does what the commands do, in order.
func Combine(commands ...Command) Command {
	var all Command
	for _, c := range commands {
		all.Append(c)
	}
	return all
}

// IsZero reports whether the command does nothing, and nothing was wrong with it.
func (c Command) IsZero() bool {
	return len(c.Batch.Mutations) == 0 && len(c.Actions) == 0 && len(c.Effects) == 0 && c.Err == nil
}

// Check returns the command's Err, or an error that names an update or payload that
// is not JSON, and so could not be stored: code that fills a Command by hand may
// make one.
func (c Command) Check() error {
	if c.Err != nil {
		return c.Err
	}
	for _, m := range c.Batch.Mutations {
		if err := checkPayload("update of state key", m.Key, m.Update); err != nil {
			return err
		}
		if err := checkPayload("value of state key", m.Key, m.Value); err != nil {
			return err
		}
		if len(m.Update) > 0 && len(m.Value) > 0 {
			return fmt.Errorf("state key %q has both an update and a value", m.Key)
		}
	}
	for _, a := range c.Actions {
		if err := checkPayload("payload of action", a.Key, a.Payload); err != nil {
			return err
		}
	}
	for _, e := range c.Effects {
		if err := checkPayload("payload of effect", e.Key, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func checkPayload(what, key string, payload json.RawMessage) error {
	if len(payload) > 0 && !json.Valid(payload) {
		return fmt.Errorf("%s %q is not JSON", what, key)
	}
	return nil
}

// Action is scheduled work for a phase of the same run, with its payload encoded.
// Plugins make one by a plugin.Action, which declares the payload's type.
type Action struct {
	Phase   core.Phase      `json:"phase"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Effect is something to do in the world after the commit, at most once, with its
// payload encoded. Plugins make one by a plugin.Effect.
type Effect struct {
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Append adds the content of d after that of c. Two batches with different bases are the
// command's Err, of code conflict.
func (c *Command) Append(d Command) {
	if c.Err == nil {
		c.Err = d.Err
	}
	if err := c.Batch.add(d.Batch); c.Err == nil {
		c.Err = err
	}
	c.Actions = append(c.Actions, d.Actions...)
	c.Effects = append(c.Effects, d.Effects...)
}

package state

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// Command is a hook's or tool's answer: what is to change and what is to
// happen. Its payloads are encoded, so it can be stored as it is. The zero
// Command does nothing.
type Command struct {
	Batch   Batch    `json:"batch,omitzero"`
	Actions []Action `json:"actions,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
}

// IsZero reports whether the command does nothing.
func (c Command) IsZero() bool {
	return len(c.Batch.Mutations) == 0 && len(c.Actions) == 0 && len(c.Effects) == 0
}

// Batch is an ordered list of mutations that are applied together or not at all.
type Batch struct {
	Mutations []Mutation `json:"mutations,omitempty"`
}

// IsZero reports whether the batch is empty.
func (b Batch) IsZero() bool { return len(b.Mutations) == 0 }

// Mutation changes one key: an update for its Apply, or, with no update, a
// clear back to the zero value.
type Mutation struct {
	Key    string          `json:"key"`
	Update json.RawMessage `json:"update,omitempty"`
}

// Action is scheduled work for a phase of the same run.
type Action struct {
	Phase   core.Phase      `json:"phase"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Effect is something to do in the world after the commit, at most once.
type Effect struct {
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Append adds what d does behind what c does.
func (c *Command) Append(d Command) {
	c.Batch.Mutations = append(c.Batch.Mutations, d.Batch.Mutations...)
	c.Actions = append(c.Actions, d.Actions...)
	c.Effects = append(c.Effects, d.Effects...)
}

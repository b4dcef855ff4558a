package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
)

// The errors of a command that names an unregistered action or effect.
var (
	// errUnknownAction is an action whose key no plugin handles at its phase.
	errUnknownAction = errors.New("no handler for scheduled action")
	// errUnknownEffect is an effect whose key no plugin handles.
	errUnknownEffect = errors.New("no handler for effect")
)

// FailedScheduledActions holds the actions whose handler failed in this run.
var FailedScheduledActions = state.List[FailedAction]("reveille.failed_actions", state.ScopeRun)

// FailedAction is a scheduled action that will not be tried again.
type FailedAction struct {
	ID     uint64       `json:"id,omitempty"` // its number among the run's; 0: it never waited, since its own phase scheduled it
	Action state.Action `json:"action"`
	Error  string       `json:"error"`
}

// pendingActions holds the actions that wait for their phase, so that they
// survive the end of a step.
var pendingActions = state.Key[pending, pendingUpdate]{
	Name: "reveille.pending_actions", Scope: state.ScopeRun, Commutative: true,
	Apply: pending.apply,
}

type pending struct {
	Last  uint64          `json:"last"` // id of the action scheduled last
	Queue []pendingAction `json:"queue,omitempty"`
}

type pendingAction struct {
	ID     uint64       `json:"id"`
	Action state.Action `json:"action"`
}

// pendingUpdate schedules actions and removes one (0: none). Removed is the content of that
// one. Calls that run in parallel do not see each other and count on from the same id. An
// action which a call has scheduled and run may therefore have another id by the time when
// the call is merged.
type pendingUpdate struct {
	Add     []state.Action `json:"add,omitempty"`
	Remove  uint64         `json:"remove,omitempty"`
	Removed *state.Action  `json:"removed,omitempty"`
}

func (p pending) apply(u pendingUpdate) pending {
	if i := p.find(u); i >= 0 {
		p.Queue = slices.Delete(p.Queue, i, i+1)
	}
	for _, a := range u.Add {
		p.Last++
		p.Queue = append(p.Queue, pendingAction{ID: p.Last, Action: a})
	}
	return p
}

// find returns the index of what an update removes: by its id, else the newest that is
// the same, since that of the call which is being merged was added last.
func (p pending) find(u pendingUpdate) int {
	newest := -1
	for i, a := range p.Queue {
		switch same := u.Removed == nil || a.Action.Phase == u.Removed.Phase && a.Action.Key == u.Removed.Key && bytes.Equal(a.Action.Payload, u.Removed.Payload); {
		case same && a.ID == u.Remove:
			return i
		case same && u.Removed != nil:
			newest = i
		}
	}
	return newest
}

// Waiting returns the id of the newest action of the run if any waits for the phase;
// 0: none does.
func (e *Engine) Waiting(s state.Snapshot, phase core.Phase) uint64 {
	if !e.actionPhases[phase] || !pendingActions.Has(s) {
		return 0
	}
	queue, err := pendingActions.Read(s)
	if err != nil || !slices.ContainsFunc(queue.Queue, func(a pendingAction) bool { return a.Action.Phase == phase }) {
		return 0 // of an error the phase itself says more
	}
	return queue.Last
}

// Took reports whether a command of a call has ended an action that waited before, with an
// id up to last.
func (e *Engine) Took(c *state.Command, last uint64) bool {
	if c == nil {
		return false
	}
	return slices.ContainsFunc(c.Batch.Mutations, func(m state.Mutation) bool {
		var u pendingUpdate
		return m.Key == pendingActions.Name && json.Unmarshal(m.Update, &u) == nil && u.Remove != 0 && u.Remove <= last
	})
}

// Submit commits a command of the tool call with the given index in its turn: a tool's own,
// as its result keeps it, or that of a phase that ran concurrently with other calls.
// Updates of [state.ScopeCall] concern that call; actions join the queue of their phase. It
// applies intents, so the result depends on s: it is called once a round is merged, in the
// order of the calls. A command that [Engine.Check] refuses, and updates that cannot be
// applied to s, are errors, and nothing changes then; they are that call's, not its
// round's.
func (e *Engine) Submit(s state.Snapshot, call int, c state.Command) (PhaseResult, error) {
	c, err := e.postpone(c, "")
	if err != nil {
		return PhaseResult{}, err
	}
	next, patch, err := e.registry.Commit(s.ForCall(call), c.Batch)
	if err != nil {
		return PhaseResult{}, err
	}
	return PhaseResult{Snapshot: next.Unbound(), Patch: patch, Command: c}, nil
}

// Check returns an error that names the key, action or effect of a command that is not
// registered, or whose payload is not JSON and could not be stored. The error does not
// depend on the state, so that a command before a tool can be checked before the tool runs.
func (e *Engine) Check(c state.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	for _, m := range c.Batch.Mutations {
		if !e.registry.Has(m.Key) {
			return fmt.Errorf("%w %q", stateerror.ErrUnknownKey, m.Key)
		}
	}
	for _, a := range c.Actions {
		if _, ok := e.actions[duty{a.Phase, a.Key}]; !ok {
			return fmt.Errorf("%w %q at phase %q", errUnknownAction, a.Key, a.Phase)
		}
	}
	for _, effect := range c.Effects {
		if _, ok := e.effects[effect.Key]; !ok {
			return fmt.Errorf("%w %q", errUnknownEffect, effect.Key)
		}
	}
	return nil
}

// postpone checks a command and turns its actions into one mutation of the queue,
// except those for the phase that is under way. It leaves the caller's slices
// alone.
func (e *Engine) postpone(c state.Command, now core.Phase) (state.Command, error) {
	if err := e.Check(c); err != nil {
		return state.Command{}, err
	}
	if len(c.Actions) == 0 {
		return c, nil
	}
	kept := state.Command{Batch: c.Batch, Effects: c.Effects}
	var later []state.Action
	for _, a := range c.Actions {
		if a.Phase == now {
			kept.Actions = append(kept.Actions, a)
		} else {
			later = append(later, a)
		}
	}
	if len(later) == 0 {
		return kept, nil
	}
	return state.Combine(kept, pendingActions.Update(pendingUpdate{Add: later})), nil
}

package plugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// The errors of a command that names what nobody handles.
var (
	// ErrUnknownAction is an action whose key no plugin handles at its phase.
	ErrUnknownAction = errors.New("no handler for scheduled action")
	// ErrUnknownEffect is an effect whose key no plugin handles.
	ErrUnknownEffect = errors.New("no handler for effect")
)

// FailedScheduledActions holds the actions whose handler failed in this run.
var FailedScheduledActions = state.Key[[]FailedAction, FailedAction]{
	Name: "reveille.failed_actions", Scope: state.ScopeRun, Merge: state.Commutative,
	Apply: func(failed []FailedAction, one FailedAction) []FailedAction { return append(failed, one) },
}

// FailedAction is a scheduled action that will not be tried again.
type FailedAction struct {
	Action state.Action `json:"action"`
	Error  string       `json:"error"`
}

// pendingActions holds the actions that wait for their phase, so that they
// survive the end of a step.
var pendingActions = state.Key[pending, pendingUpdate]{
	Name: "reveille.pending_actions", Scope: state.ScopeRun, Merge: state.Commutative,
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

// pendingUpdate schedules actions and removes one (0: none).
type pendingUpdate struct {
	Add    []state.Action `json:"add,omitempty"`
	Remove uint64         `json:"remove,omitempty"`
}

func (p pending) apply(u pendingUpdate) pending {
	p.Queue = slices.DeleteFunc(p.Queue, func(a pendingAction) bool { return a.ID == u.Remove })
	for _, a := range u.Add {
		p.Last++
		p.Queue = append(p.Queue, pendingAction{ID: p.Last, Action: a})
	}
	return p
}

// Submit commits a command that came from outside a phase, a tool's for
// example: its scheduled actions join the queue of their phase. The command
// that it answers is the one to store; its actions are mutations now. A key, an
// action or an effect that nobody registered is an error and nothing changes.
func (e *Engine) Submit(s state.Snapshot, c state.Command) (state.Snapshot, state.Command, error) {
	c, err := e.settle(c, "")
	if err != nil {
		return state.Snapshot{}, state.Command{}, err
	}
	s, err = e.registry.Commit(s, c.Batch)
	if err != nil {
		return state.Snapshot{}, state.Command{}, err
	}
	return s, c, nil
}

// settle checks that everything in a command has an owner and turns its actions
// into one mutation of the queue, except those for the phase that is under way.
// It leaves the caller's slices alone.
func (e *Engine) settle(c state.Command, now core.Phase) (state.Command, error) {
	for _, m := range c.Batch.Mutations {
		if !e.registry.Has(m.Key) {
			return state.Command{}, fmt.Errorf("%w %q", state.ErrUnknownKey, m.Key)
		}
	}
	for _, effect := range c.Effects {
		if _, ok := e.effects[effect.Key]; !ok {
			return state.Command{}, fmt.Errorf("%w %q", ErrUnknownEffect, effect.Key)
		}
	}
	if len(c.Actions) == 0 {
		return c, nil
	}
	settled := state.Command{Batch: c.Batch, Effects: c.Effects}
	var later []state.Action
	for _, a := range c.Actions {
		if _, ok := e.actions[duty{a.Phase, a.Key}]; !ok {
			return state.Command{}, fmt.Errorf("%w %q at phase %q", ErrUnknownAction, a.Key, a.Phase)
		}
		if a.Phase == now {
			settled.Actions = append(settled.Actions, a)
		} else {
			later = append(later, a)
		}
	}
	if len(later) == 0 {
		return settled, nil
	}
	settled.Batch.Mutations = slices.Clone(c.Batch.Mutations)
	err := pendingActions.Update(&settled, pendingUpdate{Add: later})
	return settled, err
}

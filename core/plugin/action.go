package plugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// The errors of a command that names an unregistered action or effect.
var (
	// ErrUnknownAction is an action whose key no plugin handles at its phase.
	ErrUnknownAction = errors.New("no handler for scheduled action")
	// ErrUnknownEffect is an effect whose key no plugin handles.
	ErrUnknownEffect = errors.New("no handler for effect")
)

// FailedScheduledActions holds the actions whose handler failed in this run.
var FailedScheduledActions = state.Appending(state.Key[[]FailedAction, FailedAction]{
	Name: "reveille.failed_actions", Scope: state.ScopeRun, Merge: state.Commutative,
})

// FailedAction is a scheduled action that will not be tried again.
type FailedAction struct {
	ID     uint64       `json:"id,omitempty"` // its number among the run's; 0: it never waited, since its own phase scheduled it
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

// Submit commits a command of the tool call with the given index in its turn: a
// tool's own, as its result keeps it, or that of a phase that ran beside other
// calls. Updates of [state.ScopeCall] concern that call; actions join the queue
// of their phase. It applies intents, so the result depends on s: it is asked
// once a round is merged, in the order of the calls. What [Engine.Check]
// refuses, and updates that cannot be applied to s, are errors, and nothing
// changes then; they are that call's, not its round's.
func (e *Engine) Submit(s state.Snapshot, call int, c state.Command) (PhaseResult, error) {
	c, err := e.settle(c, "")
	if err != nil {
		return PhaseResult{}, err
	}
	next, patch, err := e.registry.Commit(s.ForCall(call), c.Batch)
	if err != nil {
		return PhaseResult{}, err
	}
	return PhaseResult{Snapshot: next.Unbound(), Patch: patch, Command: c}, nil
}

// Check returns an error that names the key, action or effect of a command that
// nobody registered, or whose payload is not JSON and could not be stored. What
// it says does not depend on the state, so what comes before a tool can be
// checked before the tool runs.
func (e *Engine) Check(c state.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	for _, m := range c.Batch.Mutations {
		if !e.registry.Has(m.Key) {
			return fmt.Errorf("%w %q", state.ErrUnknownKey, m.Key)
		}
	}
	for _, a := range c.Actions {
		if _, ok := e.actions[duty{a.Phase, a.Key}]; !ok {
			return fmt.Errorf("%w %q at phase %q", ErrUnknownAction, a.Key, a.Phase)
		}
	}
	for _, effect := range c.Effects {
		if _, ok := e.effects[effect.Key]; !ok {
			return fmt.Errorf("%w %q", ErrUnknownEffect, effect.Key)
		}
	}
	return nil
}

// settle checks a command and turns its actions into one mutation of the queue,
// except those for the phase that is under way. It leaves the caller's slices
// alone.
func (e *Engine) settle(c state.Command, now core.Phase) (state.Command, error) {
	if err := e.Check(c); err != nil {
		return state.Command{}, err
	}
	if len(c.Actions) == 0 {
		return c, nil
	}
	settled := state.Command{Batch: c.Batch, Effects: c.Effects}
	var later []state.Action
	for _, a := range c.Actions {
		if a.Phase == now {
			settled.Actions = append(settled.Actions, a)
		} else {
			later = append(later, a)
		}
	}
	if len(later) == 0 {
		return settled, nil
	}
	return state.Combine(settled, pendingActions.Update(pendingUpdate{Add: later})), nil
}

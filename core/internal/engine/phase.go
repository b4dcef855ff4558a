package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/state"
)

// maxRounds is how many rounds of scheduled actions a phase may take.
const maxRounds = 16

// errTooManyRounds is a phase whose actions kept scheduling others for it.
var errTooManyRounds = errors.New("scheduled actions did not end")

// PhaseResult is the outcome of a phase, or of a submitted command.
type PhaseResult struct {
	// Snapshot is the state after it, bound to no agent and no call. Its revision has
	// risen by one for each commit that changed something.
	Snapshot state.Snapshot
	// Patch leads from the state before it to Snapshot: it is what to store,
	// with the revision of Snapshot. It is empty when nothing changed.
	Patch state.Patch
	// Command holds the intents that resulted in Patch, in the order of the commits:
	// mutations, among them the queue of scheduled actions, and the effects for
	// [Engine.RunEffects], of every phase. [Engine.Submit] can apply it to another
	// snapshot: parallel tool calls are merged so. When a hook's batch had a base, so has
	// this one: the revision that the phase started with.
	Command state.Command
}

// Phase runs the hooks of m.Phase and the actions that are due at it. A hook's error or
// panic, a command that names an unknown key, action or effect, and more than 16 rounds of
// actions are errors that name plugin and phase. So is an update that cannot be applied
// after the changes of other hooks of the phase to its key. The result is empty then and
// nothing must be stored. The outcome depends on m and on the results of the hooks, not on
// which of them comes first.
func (e *Engine) Phase(ctx context.Context, outside *env.Env, m Moment) (PhaseResult, error) {
	hooks := e.hooks[m.Phase]
	if len(hooks) == 0 && (!e.actionPhases[m.Phase] || !pendingActions.Has(m.Snapshot)) {
		return PhaseResult{Snapshot: m.Snapshot.Unbound()}, nil
	}
	p := phases.Get().(*phase)
	p.engine, p.moment = e, m
	e.bind(&p.moment)
	result, err := p.run(ctx, outside, hooks)
	p.release()
	return result, err
}

// run is the phase from its hooks to its result.
func (p *phase) run(ctx context.Context, outside *env.Env, hooks []hook) (PhaseResult, error) {
	began := p.moment.Snapshot
	if err := p.waiting(); err != nil {
		return PhaseResult{}, err
	}
	if err := p.gather(ctx, outside, hooks); err != nil {
		return PhaseResult{}, err
	}
	if err := p.execute(ctx); err != nil {
		return PhaseResult{}, err
	}
	p.result.Snapshot = p.moment.Snapshot.Unbound()
	p.result.Patch = state.Patch(nil).Join(p.patches...)
	if p.based {
		p.result.Command.Batch = p.result.Command.Batch.On(began)
	}
	return p.result, nil
}

// phases are those that are over: a step has ten of them, a kilobyte each. Nothing
// points into one that is over: hooks have their contexts by value, and the phase waits
// for each of them.
var phases = sync.Pool{New: func() any { return new(phase) }}

func (p *phase) release() {
	*p = phase{one: p.one}
	phases.Put(p)
}

// phase is one phase under way.
type phase struct {
	engine  *Engine
	moment  Moment // with the snapshot as it is by now
	result  PhaseResult
	patches []state.Patch   // one for each commit
	due     []pendingAction // scheduled for this phase and not yet run
	based   bool            // a batch that was committed was for one revision only

	// The values that ask passes to the goroutines of its hooks.
	ctx      context.Context
	hooks    []hook
	one      func(i int) error // calls one of them; made once
	commands []state.Command
	room     [3]state.Command // of commands, when there are no more
}

// gather runs the hooks on the frozen snapshot and commits their commands, in registration
// order. Those that collided with an earlier one, or were for a revision that an earlier
// one has ended, run again, each on the present state. Each command is a separate commit,
// so that one that fails only after another is known by its plugin.
func (p *phase) gather(ctx context.Context, outside *env.Env, hooks []hook) error {
	commands, err := p.ask(ctx, outside, hooks)
	if err != nil {
		return err
	}
	var together state.Batch
	var again []hook
	for i, command := range commands {
		if command.IsZero() {
			continue
		}
		if _, conflict := p.engine.registry.Conflict(command.Batch, together); conflict {
			again = append(again, hooks[i])
			continue
		}
		err := p.commit(command)
		if _, stale := errors.AsType[*stateerror.Revision](err); stale {
			again = append(again, hooks[i])
			continue
		}
		if err != nil {
			return p.fail(hooks[i].plugin, err)
		}
		together.Mutations = append(together.Mutations, command.Batch.Mutations...)
	}
	for _, h := range again {
		command, err := p.call(ctx, h)
		if err != nil {
			return err
		}
		if err := p.commit(command); err != nil {
			return p.fail(h.plugin, err)
		}
	}
	return nil
}

// ask returns the hooks' settled commands in registration order. Every hook is
// waited for, so that which error is returned does not depend on who is first.
func (p *phase) ask(ctx context.Context, outside *env.Env, hooks []hook) ([]state.Command, error) {
	p.ctx, p.hooks = ctx, hooks
	p.commands = slices.Grow(p.room[:0], len(hooks))[:len(hooks)]
	if p.one == nil {
		p.one = func(i int) (err error) {
			p.commands[i], err = p.call(p.ctx, p.hooks[i])
			return err
		}
	}
	if err := outside.Each(len(hooks), p.one); err != nil {
		return nil, err
	}
	return p.commands, nil
}

// call runs one hook on the current snapshot.
func (p *phase) call(ctx context.Context, h hook) (state.Command, error) {
	var command state.Command
	err := env.Protect(func() (err error) {
		command, err = h.run(ctx, &p.moment)
		return err
	})
	if err == nil {
		command, err = p.engine.postpone(command, p.moment.Phase)
	}
	if err != nil {
		return state.Command{}, p.fail(h.plugin, err)
	}
	return command, nil
}

// commit takes a settled command into the result. Actions for this very phase
// are due and never stored: they are over when the phase is.
func (p *phase) commit(c state.Command) error {
	next, patch, err := p.engine.registry.Commit(p.moment.Snapshot, c.Batch)
	if err != nil {
		return err
	}
	p.moment.Snapshot = next
	if len(patch) > 0 {
		p.patches = append(p.patches, patch)
	}
	// The base was kept here. The outcome of the phase is one batch, for which the
	// revisions between its commits mean nothing.
	p.based = p.based || c.Batch.Base != nil
	p.result.Command.Append(state.Command{Batch: state.Batch{Mutations: c.Batch.Mutations}, Effects: c.Effects})
	for _, a := range c.Actions {
		p.due = append(p.due, pendingAction{Action: a})
	}
	return nil
}

func (p *phase) fail(plugin string, err error) error {
	return &FailedError{Plugin: plugin, Phase: p.moment.Phase, Cause: err}
}

// execute runs the actions that are due, round by round: what a round schedules
// for this phase is due in the next.
func (p *phase) execute(ctx context.Context) error {
	for round := 0; len(p.due) > 0; round++ {
		if round == maxRounds {
			return fmt.Errorf("phase %s: %w within %d rounds, %q is due again", p.moment.Phase, errTooManyRounds, maxRounds, p.due[0].Action.Key)
		}
		due := p.due
		p.due = nil
		for _, action := range due {
			if err := p.perform(ctx, action); err != nil {
				return err
			}
		}
	}
	return nil
}

// waiting lists the actions that earlier phases scheduled for this one. Those without a
// handler continue to wait: a later version of the code may have one. Those that a sibling
// call has taken do not belong to this one.
func (p *phase) waiting() error {
	if !p.engine.actionPhases[p.moment.Phase] || !pendingActions.Has(p.moment.Snapshot) {
		return nil
	}
	queue, err := pendingActions.Read(p.moment.Snapshot)
	if err != nil {
		return fmt.Errorf("phase %s: %w", p.moment.Phase, err)
	}
	for _, a := range queue.Queue {
		if _, ok := p.engine.actions[duty{a.Action.Phase, a.Action.Key}]; ok && a.Action.Phase == p.moment.Phase && a.ID > p.moment.Taken {
			p.due = append(p.due, a)
		}
	}
	return nil
}

// perform runs one action and commits what it returns together with its removal.
func (p *phase) perform(ctx context.Context, a pendingAction) error {
	h := p.engine.actions[duty{a.Action.Phase, a.Action.Key}]
	var command state.Command
	failure := env.Protect(func() (err error) {
		command, err = h.run(ctx, p.moment.handler(h.plugin, a.Action.Key), a.Action.Payload)
		return err
	})
	if ctx.Err() != nil && failure != nil {
		return p.fail(h.plugin, failure) // the worker stops: not the action's fault, it will be tried again
	}
	if failure == nil {
		command, failure = p.engine.postpone(command, p.moment.Phase)
	}
	if failure == nil {
		failure = p.commit(state.Combine(command, removal(a)))
	}
	if failure == nil {
		return nil
	}
	return p.record(a, failure)
}

// removal returns the command that takes a waiting action off the queue.
func removal(a pendingAction) state.Command {
	if a.ID == 0 {
		return state.Command{} // it was never on it
	}
	return pendingActions.Update(pendingUpdate{Remove: a.ID, Removed: &a.Action})
}

// record puts an action that failed aside.
func (p *phase) record(a pendingAction, failure error) error {
	failed := FailedScheduledActions.Update(FailedAction{ID: a.ID, Action: a.Action, Error: wire.Shorten(failure.Error(), maxFailure)})
	return p.commit(state.Combine(removal(a), failed))
}

// maxFailure bounds, in bytes, what the error of a failed action adds to the state.
const maxFailure = 500

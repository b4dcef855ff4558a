package run

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// The calls of a parallel round start on one snapshot, and their results come in
// any order. Those that change state form a line: before each is stored, its
// requests are tried on the outcome of those before it, and a request that does not
// apply there is the call's error. The result has its place, so that every claim
// folds the line in the same order, and the merge has nothing left to refuse.
//
// Each is put when the one before it is stored. So a claim that takes over finds
// the places from 1 on without a gap, except for results whose put came late from a
// claim that was lost: those were tried on another state, and are tried again after
// the others.

// line gives the results of a parallel round their places, and each call its one result.
// Without a line, in a sequential round, a result has no place: it is kept as it is.
type line struct {
	round  *round
	gates  *gates
	merger *merger
	tail   *tail // never changed, but replaced; nil: it was not needed yet
}

// tail is the outcome of those results in the line that are not merged. It is tried
// by value: a request that does not apply leaves the line's own as it was, and the
// failed copy is dropped.
type tail struct {
	snapshot state.Snapshot // the round's, with what they changed
	patches  []state.Patch
	other    state.Batch // what they changed, but for values of one call alone
	places   int         // the last place that was given
}

// givePlace tries the requests of call i at the end of the line, and gives it the
// next place when it changes something. Hooks that conflict with the changes of
// siblings run again, only for their changes, if ask is true; a tool never does. A
// request that does not apply costs the call its changes and effects, and the
// result of its tool.
func (l *line) givePlace(ctx context.Context, i int, end *conclusion, ask bool) error {
	r := l.round
	if !r.lined() || !changes(&end.hooks) && !changes(&end.result.Command) {
		return nil
	}
	now := l.now()
	if ask && l.collides(&end.hooks, now) && asksAgain(end.result.Status, end.after.decision) {
		again, err := l.hookAgain(ctx, i, end.result.Status)
		if err != nil {
			return err
		}
		again.Effects = end.hooks.Effects
		end.hooks = again
	}
	began := now.snapshot.Revision()
	if err := l.extend(&now, i, &end.hooks); err != nil {
		l.refuseChange(ctx, i, end, err)
		end.hooks = state.Command{}
	}
	hooked := now
	err := l.extend(&now, i, &end.result.Command)
	if base := end.result.Command.Batch.Base; base != nil && *base != began {
		err = &stateerror.Revision{Expected: *base, Actual: began}
	}
	if err != nil {
		l.refuseChange(ctx, i, end, err)
		now = hooked
	}
	if changes(&end.hooks) || changes(&end.result.Command) {
		now.places++
		end.place, _ = r.holder.s.choices.Place(r.holder.id, r.holder.events.Step(), i, now.places)
		l.tail = &now
	}
	return nil
}

// now is the outcome of the line: at first the round's snapshot.
func (l *line) now() tail {
	if l.tail == nil {
		l.tail = &tail{snapshot: l.round.draft.snapshot}
	}
	return *l.tail
}

// extend applies what a call asks for at the end of a line. A base was kept to before.
func (l *line) extend(t *tail, i int, asked *state.Command) error {
	r := l.round
	if !changes(asked) {
		return nil
	}
	command := *asked
	command.Effects, command.Batch.Base = nil, nil
	came, err := r.base.hooks.engine.Submit(t.snapshot, i, command)
	if err != nil {
		return err
	}
	t.snapshot = came.Snapshot
	if len(came.Patch) > 0 {
		t.patches = append(t.patches, came.Patch)
	}
	// A call's changes of its own values cannot collide with a sibling's.
	for _, m := range came.Command.Batch.Mutations {
		if scope, _ := r.base.hooks.engine.Registry().Scope(m.Key); scope != state.ScopeCall {
			t.other.Mutations = append(t.other.Mutations, m)
		}
	}
	return nil
}

// refuseChange makes an error of a call whose change does not apply after its
// siblings'. A call that a gate or a person has forbidden stays forbidden.
func (l *line) refuseChange(ctx context.Context, i int, end *conclusion, err error) {
	r := l.round
	call := r.turn.ToolCalls[i]
	r.holder.warn(ctx, "change of a call conflicts with its siblings", append([]any{"call", call.ID, "tool", call.Name}, failure(err)...)...)
	switch end.result.Status {
	case core.ResultBlocked, core.ResultDenied, core.ResultCancelled: // no tool has asked for anything
		return
	}
	why := "its change of the state does not apply"
	if _, stale := errors.AsType[*stateerror.Revision](err); stale {
		why = err.Error()
	}
	end.result = tool.Failed("execution failed: " + why)
}

// collides reports whether another call of the round has changed since a value that
// hooks of this call changed, and that does not merge: one of the two changes would
// be lost. A change for one revision only collides with every later change. Changes
// that were merged before a wait are not among the others: a call that continued
// since started on a snapshot that has them, and the command of one that did not is
// applied as it is.
func (l *line) collides(hooks *state.Command, now tail) bool {
	if base := hooks.Batch.Base; base != nil && *base != now.snapshot.Revision() {
		return true
	}
	_, conflict := l.round.base.hooks.engine.Registry().Conflict(hooks.Batch, now.other)
	return conflict
}

// asksAgain reports whether the hooks of a call can run again. If a call waited,
// and got its result from the decision, it is no longer known whether a gate or its
// tool had asked, and so whether BeforeToolExecute had run. Its command is applied
// as it is, over the siblings' changes of the same key.
func asksAgain(status core.ResultStatus, decision string) bool {
	switch status {
	case core.ResultDenied, core.ResultCancelled:
		return false
	case core.ResultSet:
		return decision == ""
	}
	return true
}

// hookAgain runs the gates and BeforeToolExecute of a call on the state that its
// siblings left, for their changes alone: the verdict remains, and so do the
// effects that they requested first. The tool does not run again, for any merge of
// its keys: its updates are applied to the present values.
//
// A claim that finds the result of an earlier one does not know the decision that
// the call continued after. The gates run without it, and their verdict does not
// count anyway.
func (l *line) hookAgain(ctx context.Context, i int, status core.ResultStatus) (state.Command, error) {
	r := l.round
	again := task{index: i, call: r.calledWith(i)}
	if t := r.calls[i].task; t != nil { // else an earlier claim's, or a gate gave the result
		again = *t
	}
	t := &again
	if e := r.calls[i].result.entry; e != nil { // an earlier claim has stored it
		t.at = e.At
	} else {
		t.at = r.timeOf(InstantResultRound, i, 0)
	}
	t.snapshot = l.now().snapshot
	t.began = t.snapshot.Revision() // its hooks are what the gates say now
	l.gates.share(t, true)
	if _, err := l.gates.askGates(ctx, t); err != nil {
		return state.Command{}, err
	}
	switch status {
	case core.ResultBlocked, core.ResultSet: // the gates ended it
	default:
		if err := l.gates.beforeTool(ctx, t); err != nil {
			return state.Command{}, err
		}
	}
	return t.hooks, nil
}

// merge takes the outcome of the line into the draft. It is called once, after the
// last call.
func (l *line) merge() {
	now, d := l.now(), l.round.draft
	d.snapshot = now.snapshot
	d.patches = append(d.patches, now.patches...)
}

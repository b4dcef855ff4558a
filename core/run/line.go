package run

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// The calls of a parallel round begin on one snapshot, and their results come in any
// order. Those that change state stand in a line: before each is stored, what it asks
// for is tried on what those before it came to, and what does not apply there is the
// call's error. The result says its place, so that every claim folds the line in the
// same order, and the merge has nothing left to refuse.
//
// Each is put when the one before it is stored. So a claim that takes over finds the
// places from 1 on without a gap, but for results whose put came late from a claim that
// was lost: those were tried on something else, and are tried again behind the others.

// line is what results that are not merged came to.
type line struct {
	begun    bool
	snapshot state.Snapshot // the round's, with what they changed
	patches  []state.Patch
	other    state.Batch // what they changed, but for values of one call alone
	places   int         // the last place that was given
}

// lined reports whether the results of the round stand in a line.
func (r *round) lined() bool {
	return r.base.agent != nil && r.mode != "" && r.mode != agent.Sequential
}

// takePlace tries what call i has come to at the end of the line, and gives it the next
// place when it changes something. Hooks that conflict with what siblings changed are
// asked again, for what they change alone, where ask says so; a tool never is. What does
// not apply costs the call its changes and effects, and whatever its tool returned.
func (r *round) takePlace(ctx context.Context, i int, end *conclusion, ask bool) error {
	if !r.lined() || !changes(&end.hooks) && !changes(&end.result.Command) {
		return nil
	}
	now := r.lineNow()
	if ask && r.collides(&end.hooks, now) && asksAgain(end.result.Status, end.decision) {
		again, err := r.hookAgain(ctx, i, end.result.Status)
		if err != nil {
			return err
		}
		again.Effects = end.hooks.Effects
		end.hooks = again
	}
	began := now.snapshot.Revision()
	if err := r.extend(&now, i, &end.hooks); err != nil {
		r.refuseChange(ctx, i, end, err)
		end.hooks = state.Command{}
		return nil
	}
	hooked := now
	err := r.extend(&now, i, &end.result.Command)
	if base := end.result.Command.Batch.Base; base != nil && *base != began {
		err = &state.RevisionError{Expected: *base, Actual: began}
	}
	if err != nil {
		r.refuseChange(ctx, i, end, err)
		now = hooked
	}
	if changes(&end.hooks) || changes(&end.result.Command) {
		now.places++
		end.place, _ = r.holder.s.choices.Place(r.holder.id, r.holder.events.Step(), i, now.places)
		r.line = now
	}
	return nil
}

// lineNow is the line as it stands.
func (r *round) lineNow() line {
	if !r.line.begun {
		r.line.begun, r.line.snapshot = true, r.draft.snapshot
	}
	return r.line
}

// extend applies what a call asks for at the end of a line. A base was kept to before.
func (r *round) extend(l *line, i int, asked *state.Command) error {
	if !changes(asked) {
		return nil
	}
	command := *asked
	command.Effects, command.Batch.Base = nil, nil
	came, err := r.base.hooks.engine.Submit(l.snapshot, i, command)
	if err != nil {
		return err
	}
	l.snapshot = came.Snapshot
	if len(came.Patch) > 0 {
		l.patches = append(slices.Clip(l.patches), came.Patch)
	}
	// What a call changes of its own values cannot collide with a sibling's.
	l.other.Mutations = slices.Clip(l.other.Mutations)
	for _, m := range came.Command.Batch.Mutations {
		if scope, _ := r.base.hooks.engine.Registry().Scope(m.Key); scope != state.ScopeCall {
			l.other.Mutations = append(l.other.Mutations, m)
		}
	}
	return nil
}

// refuseChange makes an error of a call whose change does not apply behind its siblings'.
// What a gate or a person has forbidden stays so.
func (r *round) refuseChange(ctx context.Context, i int, end *conclusion, err error) {
	call := r.turn.ToolCalls[i]
	r.holder.warn(ctx, "what a call changes does not apply to what its siblings changed", append([]any{"call", call.ID, "tool", call.Name}, failure(err)...)...)
	switch end.result.Status {
	case core.ResultBlocked, core.ResultDenied, core.ResultCancelled:
		end.result.Command = state.Command{}
		return
	}
	why := "its change of the state does not apply"
	if _, stale := errors.AsType[*state.RevisionError](err); stale {
		why = err.Error()
	}
	end.result = tool.Failed("execution failed: " + why)
}

// changes reports whether a command changes the state.
func changes(c *state.Command) bool { return c != nil && len(c.Batch.Mutations)+len(c.Actions) > 0 }

// changesState reports whether a result changes the state.
func changesState(e *thread.Entry) bool { return e != nil && (changes(e.Hooks) || changes(e.Intents)) }

// untried reports whether the result of call i is still to be tried on what siblings
// changed: it is stored, and stands at no place.
func (r *round) untried(i int) bool {
	c := &r.calls[i]
	return r.lined() && !c.merged() && changesState(c.result.entry) && c.result.entry.Place == 0
}

// mayStore reports whether the result of call i can be stored: those before it in the
// line are.
func (r *round) mayStore(i int) bool {
	place := r.calls[i].result.entry.Place
	return place == 0 || !r.any(func(c *call) bool {
		return c.stage == concluded && !c.stored() && 0 < c.result.entry.Place && c.result.entry.Place < place
	})
}

// inLine are the calls in the order of their results' places; those without come first,
// in call order.
func (r *round) inLine() []int {
	order := make([]int, len(r.calls))
	for i := range order {
		order[i] = i
	}
	place := func(i int) int {
		if e := r.calls[i].result.entry; e != nil {
			return e.Place
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	return order
}

// mergeLine takes into the draft what the line has come to.
func (r *round) mergeLine() {
	now := r.lineNow()
	r.draft.snapshot = now.snapshot
	r.draft.patches = append(r.draft.patches, now.patches...)
	r.line = line{places: now.places}
}

// lineUp makes the line from the results that were found. Those that are in none are
// tried at its end: their records are to be put again. ask says whether hooks can be
// asked.
func (r *round) lineUp(ctx context.Context, ask bool) error {
	if !r.lined() {
		return nil
	}
	r.showResults(-1) // to the hooks
	now, last := r.lineNow(), 0
	for i := range r.calls {
		if c := &r.calls[i]; c.merged() && c.stage == concluded {
			last = max(last, c.result.entry.Place)
		}
	}
	var late []int
	for _, i := range r.inLine() {
		c := &r.calls[i]
		entry := c.result.entry
		if c.merged() || !changesState(entry) {
			continue
		}
		isDone := r.holder.head.Run.Calls[i] == thread.CallDone
		if ask && !isDone && !r.isTurn(i) {
			end := found(entry)
			c.stage, c.held, c.result.entry, c.result.payload = held, &end, nil, nil
			continue
		}
		_, fixed := r.fixedPlace(i)
		if !isDone && (entry.Place == 0 || !fixed && (entry.Place != last+1 || r.overtaken(entry))) {
			late = append(late, i)
			continue
		}
		whole := now
		err := r.extend(&whole, i, entry.Hooks)
		if err == nil {
			err = r.extend(&whole, i, entry.Intents)
		}
		switch {
		case err == nil:
			now = whole
		case isDone: // of a program that knew of no line
			r.complainOf(ctx, i, err)
		default:
			late = append(late, i)
			continue
		}
		last = max(last, entry.Place)
	}
	now.places = last
	r.line = now
	slices.Sort(late)
	for _, i := range late {
		r.calls[i].result.entry.Place = 0 // it is in no line
	}
	for _, i := range late {
		if err := r.lineUpAgain(ctx, i, ask); err != nil {
			return err
		}
	}
	return nil
}

// overtaken reports whether a result was put by a claim that had been lost: another has
// given its place, or one before it, or the round has waited since.
func (r *round) overtaken(e *thread.Entry) bool {
	return e.Attempt < r.waited || r.any(func(c *call) bool {
		other := c.result.entry
		return other != nil && other.Place > 0 && other.Place <= e.Place && other.Attempt > e.Attempt
	})
}

// lineUpAgain gives a result that was found a place at the end of the line.
func (r *round) lineUpAgain(ctx context.Context, i int, ask bool) error {
	c := &r.calls[i]
	was, end := c.result.entry, found(c.result.entry)
	if err := r.takePlace(ctx, i, &end, ask); err != nil {
		return err
	}
	entry := r.resultEntry(i, end)
	entry.At, entry.Duration, entry.Message.CreatedAt = was.At, was.Duration, was.Message.CreatedAt
	payload, err := r.holder.records.EncodeEntryAgain(&entry, c.result.payload)
	if err != nil {
		return endWith("encoding", err)
	}
	c.end(&entry, payload)
	return nil
}

// found is what a call came to whose result was found.
func found(e *thread.Entry) conclusion {
	end := conclusion{result: tool.Result{ToolResult: *e.Message.ToolResult}, decision: e.Decision, blocked: e.Blocked}
	if e.Hooks != nil {
		end.hooks = *e.Hooks
	}
	if e.Intents != nil {
		end.result.Command = *e.Intents
	}
	return end
}

// collides reports whether hooks of a call changed what another call of the round
// has changed since, and what does not merge: one of the two would be lost. What was
// for one revision only collides with whatever was changed since. What was merged before
// a wait is not among the others: a call that went on since was asked on a snapshot that
// has it, and the command of one that did not is applied as it is.
func (r *round) collides(hooks *state.Command, now line) bool {
	if base := hooks.Batch.Base; base != nil && *base != now.snapshot.Revision() {
		return true
	}
	_, conflict := r.base.hooks.engine.Registry().Conflict(hooks.Batch, now.other)
	return conflict
}

// asksAgain reports whether the hooks of a call can be asked again. Of a call that
// came to wait, and got its result from the decision, nobody can tell any more
// whether a gate or its tool had asked, and so whether BeforeToolExecute had run: its
// command is applied as it is, over what siblings made of the same key.
func asksAgain(status core.ResultStatus, decision string) bool {
	switch status {
	case core.ResultDenied, core.ResultCancelled:
		return false
	case core.ResultSet:
		return decision == ""
	}
	return true
}

// hookAgain asks the gates and BeforeToolExecute of a call on what its siblings
// made of the state, for what they change alone: the verdict stands, and so do the
// effects that they asked for first. The tool does not run again, whatever merge its
// keys have: its updates are applied to what is there.
//
// A claim that finds the result of an earlier one does not know the decision that
// the call went on after; the gates are asked without it, and their verdict does not
// count anyway.
func (r *round) hookAgain(ctx context.Context, i int, status core.ResultStatus) (state.Command, error) {
	again := task{index: i, call: r.turn.ToolCalls[i]}
	if t := r.calls[i].task; t != nil { // else an earlier claim's, or a gate gave the result
		again = *t
	}
	t := &again
	if e := r.calls[i].result.entry; e != nil { // an earlier claim has stored it
		t.at = e.At
	} else {
		t.at = r.timeOf(InstantResultRound, i, 0)
	}
	t.snapshot = r.lineNow().snapshot
	t.began, t.hooks = t.snapshot.Revision(), state.Command{}
	r.share(t, true)
	if _, err := r.askGates(ctx, t); err != nil {
		return state.Command{}, err
	}
	switch status {
	case core.ResultBlocked, core.ResultSet: // the gates ended it
	default:
		if err := r.beforeTool(ctx, t); err != nil {
			return state.Command{}, err
		}
	}
	return t.hooks, nil
}

// holdBack keeps the result of call i back where its place is fixed, until those before it in
// the line have come; see [Choices]. A block is at once.
func (r *round) holdBack(i int, end conclusion) bool {
	if !r.lined() || end.blocked != "" || r.isTurn(i) {
		return false
	}
	r.calls[i].stage, r.calls[i].held = held, &end
	return true
}

// fixedPlace is the place that the result of call i is to have; 0: none, or it is not
// decided before it comes.
func (r *round) fixedPlace(i int) (place int, fixed bool) {
	return r.holder.s.choices.Place(r.holder.id, r.holder.events.Step(), i, 0)
}

// isTurn reports whether no result is missing whose fixed place is before that of call i.
func (r *round) isTurn(i int) bool {
	mine, _ := r.fixedPlace(i)
	for n := range r.calls {
		if p, _ := r.fixedPlace(n); r.calls[n].stage != concluded && 0 < p && p < mine {
			return false
		}
	}
	return true
}

// holding reports whether results are held back.
func (r *round) holding() bool {
	return r.any(func(c *call) bool { return c.stage == held })
}

// release stores results that were held back and whose turn it is; all says that nothing
// can come before them any more.
func (r *round) release(ctx context.Context, all bool) error {
	for r.holding() {
		first, least := -1, 0
		for i := range r.calls {
			if place, _ := r.fixedPlace(i); r.calls[i].stage == held && (first < 0 || place < least) {
				first, least = i, place
			}
		}
		if !all && !r.isTurn(first) {
			return nil
		}
		end := *r.calls[first].held
		r.calls[first].stage, r.calls[first].held = fresh, nil
		if err := r.settleOn(ctx, first, end); err != nil {
			return err
		}
	}
	return nil
}

package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// conclude keeps the result of call i. It is stored at its reserved sequence at
// once when something may still run or wait after it: a sibling or a hook, whose
// time a crash would make the tool pay for with a second execution. The last one
// travels with commit B, which follows at once: a write less for each round.
//
// A result that the store or the encoder will never take becomes an error result
// here, once: the model reads why, and the tool does not run again.
func (l *line) conclude(ctx context.Context, i int, end conclusion) error {
	if l.holdBack(i, end) {
		return nil
	}
	err := l.concludeNow(ctx, i, end)
	return cmp.Or(err, l.release(ctx, false))
}

// concludeNow is conclude for a result whose turn it is.
func (l *line) concludeNow(ctx context.Context, i int, end conclusion) error {
	r := l.round
	// A result whose hooks fail when they run again is stored without a place: the
	// next claim tries it then, and its tool does not run again.
	was := l.tail
	failed := l.givePlace(ctx, i, &end, true)
	err := r.keep(ctx, i, end)
	if cannotBeStored(err) {
		large := errors.Is(err, store.ErrTooLarge)
		r.holder.warn(ctx, "result cannot be stored", "call", i, "error", err)
		what := "it cannot be encoded"
		if large {
			what = "it is too large"
		}
		// The requests of gates and hooks count with this result as with any;
		// unless it is they that cannot be stored.
		instead := conclusion{result: tool.Failed("result cannot be stored: " + what), hooks: end.hooks, after: end.after, took: end.took}
		l.tail = was
		if failed == nil {
			failed = l.givePlace(ctx, i, &instead, false)
		}
		if err = r.keep(ctx, i, instead); cannotBeStored(err) {
			l.tail, instead.hooks, instead.place = was, state.Command{}, 0
			err = r.keep(ctx, i, instead)
		}
	}
	return cmp.Or(err, failed)
}

// cannotBeStored reports whether a put failed for what was to be stored.
func cannotBeStored(err error) bool {
	_, encoding := errors.AsType[*ended](err)
	return encoding || errors.Is(err, store.ErrTooLarge)
}

// holdBack keeps the result of call i back where its place is fixed, until those before it in
// the line have come; see [Choices]. A block is at once.
func (l *line) holdBack(i int, end conclusion) bool {
	r := l.round
	if !r.lined() || end.blocked != "" || l.isTurn(i) {
		return false
	}
	later := end // only a result that is held back is worth an allocation
	r.calls[i].stage, r.calls[i].held = held, &later
	return true
}

// fixedPlace is the place that the result of call i is to have; 0: none, or it is not
// decided before it comes.
func (l *line) fixedPlace(i int) (place int, fixed bool) {
	h := l.round.holder
	return h.s.choices.Place(h.id, h.events.Step(), i, 0)
}

// isTurn reports whether no result is missing whose fixed place is before that of call i. It
// is always so where places are given as results come.
func (l *line) isTurn(i int) bool {
	mine, _ := l.fixedPlace(i)
	for n := range l.round.calls {
		if p, _ := l.fixedPlace(n); l.round.calls[n].stage != concluded && 0 < p && p < mine {
			return false
		}
	}
	return true
}

// release stores results that were held back and whose turn has come; all means
// that nothing can come before them any more.
func (l *line) release(ctx context.Context, all bool) error {
	r := l.round
	for r.calls.holding() {
		first, least := -1, 0
		for i := range r.calls {
			if place, _ := l.fixedPlace(i); r.calls[i].stage == held && (first < 0 || place < least) {
				first, least = i, place
			}
		}
		if !all && !l.isTurn(first) {
			return nil
		}
		if err := l.concludeNow(ctx, first, *r.calls[first].held); err != nil {
			return err
		}
	}
	return nil
}

// concludeOpen serves a round that is not to run at all: each call without a result
// gets one with the reason. An earlier claim judged the turn alike and started
// nothing, unless a result proves that it did.
func (l *line) concludeOpen(ctx context.Context, reason string) error {
	r := l.round
	if r.calls.any(func(c *call) bool {
		return c.stage == concluded && c.result.entry.Message.ToolResult.Status != core.ResultNotExecuted
	}) {
		r.through.Ran |= r.through.May
	}
	for i := range r.calls {
		if r.calls[i].stage == concluded {
			continue
		}
		if err := l.conclude(ctx, i, conclusion{result: r.notExecuted(i, reason)}); err != nil {
			return err
		}
	}
	return nil
}

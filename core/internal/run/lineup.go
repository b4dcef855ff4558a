package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// lineUp makes the line from the results that were found. Their places give the
// order in which they were tried, and each is tried once more in that order: a
// record proves that a claim has stored it, and not that the claim knew of all
// records before it. Those that are in no line are tried at its end: their records
// are to be put again.
//
// A result that the head marks done keeps its place in every case: it was read as
// it is. ask tells whether hooks can run. They cannot in a close, which holds
// nothing back either.
func (l *line) lineUp(ctx context.Context, ask bool) error {
	r := l.round
	if !r.lined() {
		return nil
	}
	l.merger.showResults(-1) // to the hooks
	now, last := l.now(), 0
	for i := range r.calls {
		if c := &r.calls[i]; c.merged() && c.stage == concluded {
			last = max(last, int(c.result.entry.Place))
		}
	}
	var late []int
	for _, i := range r.calls.inLine() {
		c := &r.calls[i]
		entry := c.result.entry
		if c.merged() || !changesState(entry) {
			continue
		}
		isDone := r.holder.head.Run.Calls[i] == thread.CallDone
		// Where places are fixed, one may come before it that is still to run.
		if ask && !isDone && !l.isTurn(i) {
			end := found(entry)
			c.stage, c.held, c.result.entry, c.result.payload = held, &end, nil, nil
			continue
		}
		// Without a place its hooks had failed when they ran again. After a gap, or
		// overtaken, it came late from a lost claim, and was tried on another
		// state.
		_, fixed := l.fixedPlace(i)
		if !isDone && (entry.Place == 0 || !fixed && (int(entry.Place) != last+1 || l.overtaken(entry))) {
			late = append(late, i)
			continue
		}
		whole := now // both commands or none: half a call is what no hook requested
		err := l.extend(&whole, i, entry.Hooks)
		if err == nil {
			err = l.extend(&whole, i, entry.Intents)
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
		last = max(last, int(entry.Place))
	}
	now.places = last
	l.tail = &now
	// In call order, which every claim that finds the same results follows. All of
	// them give up their places first, since each looks at the places in the line.
	slices.Sort(late)
	for _, i := range late {
		r.calls[i].result.entry.Place = 0 // it is in no line
	}
	for _, i := range late {
		if err := l.lineUpAgain(ctx, i, ask); err != nil {
			return err
		}
	}
	return nil
}

// overtaken reports whether a result was put by a claim that had been lost: another has
// given its place, or one before it, or the round has waited since.
func (l *line) overtaken(e *thread.Entry) bool {
	return e.Attempt < l.merger.waited || l.round.calls.any(func(c *call) bool {
		other := c.result.entry
		return other != nil && other.Place > 0 && other.Place <= e.Place && other.Attempt > e.Attempt
	})
}

// lineUpAgain gives a result that was found a place at the end of the line. It keeps the
// times of the first record: the tool has not run again. Nor does it when the change does not
// apply any more; the call has an error for a result then.
func (l *line) lineUpAgain(ctx context.Context, i int, ask bool) error {
	r := l.round
	c := &r.calls[i]
	was, end := c.result.entry, found(c.result.entry)
	if err := l.givePlace(ctx, i, &end, ask); err != nil {
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

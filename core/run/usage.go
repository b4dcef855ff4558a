package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// metered reports whether the turn has something to tell that somebody meters.
func (t *turnBuilder) metered() bool {
	return t != nil && t.draft.books.Meters() && t.spent.Asked()
}

// addUsage adds the record of the stretch to those of the write that ends it. What was
// asked of the model for a turn that came to nothing, unlogged, counts as well; nil is none.
// The run's record notes where the next stretch begins. ends is what is told when the write
// is done; nil: it ends no stretch.
func (d *draft) addUsage(records []store.Record, next thread.Head, result thread.Result, r *thread.RunRecord, unlogged *turnBuilder) (_ []store.Record, ends *account.Record, err error) {
	s := result.Stretch
	if !d.books.Meters() || s == nil {
		return records, nil, nil
	}
	used, wasted := d.totals.Metered, d.wasted
	if unlogged != nil {
		wasted = unlogged.spent.AddTo(wasted)
	}
	base, known := r.Base(*s)
	known = known && d.conversation != nil // else nobody can read what the run has used
	closing := account.Closing{
		Run: d.id, Stretch: *s, User: d.head.Owner, Agent: r.AgentID, End: account.EndWaiting,
		Used: used, Wasted: wasted, Base: base, Known: known, Memory: d.books.Metering.Memory, Until: d.env.Millis(),
	}
	if r.Termination != nil {
		closing.End = string(r.Termination.Type)
	}
	if r.Status == core.RunWaiting {
		r.Bases = []thread.Base{{Version: s.Behind, Used: base}, {Version: next.Version, Used: used}}
	}
	u := closing.Record()
	if e, ok := d.store.(store.Estimator); ok {
		u.Spent = u.Spent.Plus(e.EstimateCommit(store.Commit{Records: records, Usage: &store.Usage{}}))
	}
	record, err := u.Encode(d.records, d.books.Metering.Keep)
	if err != nil {
		return records, nil, err
	}
	return append(records, record), &u, nil
}

// Calls of the model behind which no turn was stored are in no record of the log. Whoever
// gives a run back, or begins to close it, puts them beside it: the record is of the
// whole stretch so far, and the head names it, so that one of a refused write counts
// nothing.

// unlogged is what was asked of the model for the turn that is begun, unless the log has the
// turn, which ends there: the write that stored it may have had no answer.
func (t *turnBuilder) unlogged(seq uint64) *turnBuilder {
	if !t.metered() || seq > t.from {
		return nil
	}
	return t
}

// allWasted is what the stretch has asked of models for turns that came to nothing.
func (d *draft) allWasted(unlogged *turnBuilder) *thread.Metered {
	if unlogged != nil {
		return unlogged.spent.AddTo(d.wasted)
	}
	return d.wasted
}

// addWasted adds the record of it, if this claim has something to say of it.
func (d *draft) addWasted(records []store.Record, next thread.Head, unlogged *turnBuilder) ([]store.Record, error) {
	if unlogged == nil {
		return records, nil
	}
	payload, err := d.records.Encode("wasted calls", d.allWasted(unlogged))
	return append(records, store.Record{Name: store.WastedName(d.id, next.Version), Payload: payload}), err
}

// recallWasted reads it.
func (l *loaded) recallWasted(ctx context.Context) error {
	s := &l.head.Run.Stretch
	if s.Over || s.Wasted == 0 {
		return nil
	}
	wasted := new(thread.Metered)
	if err := l.readRecord(ctx, "wasted calls", store.WastedName(l.id, s.Wasted), wasted); err != nil {
		return err
	}
	l.wasted = wasted
	return nil
}

// tellUsage tells of the stretch that the last write has ended; nil: it has ended none.
func (d *draft) tellUsage(u *account.Record) {
	if u != nil && d.books.Metering.Ended != nil {
		d.books.Metering.Ended(d.Key.Tenant, *u)
	}
}

package run

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/usage"
)

// Metering says that what runs use is recorded.
type Metering struct {
	// Keep is how long the records are kept.
	Keep time.Duration
	// Memory is that of the function which steps runs, in MB: with it the handler's time
	// is money. 0: nobody bills it.
	Memory int
	// Ended is told of each stretch behind the write that ends it. nil: nobody is.
	Ended func(tenant string, record usage.Record)
}

// used is what the turn's calls of the model came to in this delivery; nil: nobody meters,
// or there was none.
func (t *turnBuilder) used() *thread.ModelUse {
	if t == nil || t.made == 0 || t.draft.metering == nil {
		return nil
	}
	use := &thread.ModelUse{Provider: t.draft.provider(), Model: t.asked.Model, Inferences: t.made, Millis: t.took.Milliseconds()}
	if spent := sum(t.spent, t.usage); spent != nil {
		use.Usage = *spent
	}
	return use
}

// provider is the id of the provider that the model belongs to; empty where that is not said.
func (d *draft) provider() string {
	if d.model == nil { // a closing run could not be read again
		return ""
	}
	return d.model.Provider
}

// meterTurn adds what the model was asked for a step to the run's totals.
func (d *draft) meterTurn(t *turnBuilder) {
	if use := t.used(); use != nil {
		d.totals.Metered = d.totals.Metered.With(*use)
	}
}

// meterResults counts the tool calls of a round that is not merged any more: the draft
// stands at its turn. nil is no round.
func (r *round) meterResults() {
	if r == nil {
		return
	}
	for _, c := range r.calls {
		if c.entry != nil {
			r.draft.totals.MeterResult(c.entry)
		}
	}
}

// addUsage adds the record of the stretch to those of the write that ends it. What was
// asked of the model for a turn that came to nothing, unlogged, counts as well; nil is none.
// The run's record notes where the next stretch begins.
func (d *draft) addUsage(records []store.Record, next thread.Head, result thread.Result, r *thread.RunRecord, unlogged *thread.ModelUse) ([]store.Record, error) {
	s := result.Stretch
	if d.metering == nil || s == nil {
		return records, nil
	}
	used, wasted := d.totals.Metered, d.wasted
	if unlogged != nil {
		wasted = wasted.With(*unlogged)
	}
	base, known := r.Base(*s)
	known = known && d.conversation != nil // else nobody can read what the run has used
	closing := usage.Closing{
		Run: d.id, Stretch: *s, User: d.head.Owner, Agent: r.AgentID, End: usage.EndWaiting,
		Used: used, Wasted: wasted, Base: base, Known: known, Memory: d.metering.Memory, Until: d.env.Millis(),
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
	record, err := u.Encode(d.records, d.metering.Keep)
	if err != nil {
		return records, err
	}
	d.ended = &u
	return append(records, record), nil
}

// Calls of the model behind which no turn was stored are in no record of the log. Whoever
// gives a run back, or begins to close it, puts them beside it: the record is of the
// whole stretch so far, and the head names it, so that one of a refused write counts
// nothing.

// unlogged is what was asked of the model for the turn that is begun, unless the log has the
// turn, which ends there: the write that stored it may have had no answer.
func (m *machine) unlogged(seq uint64) *thread.ModelUse {
	if m.unsaid == nil || seq > m.unsaid.from {
		return nil
	}
	return m.unsaid.used()
}

// allWasted is what the stretch has asked of models for turns that came to nothing.
func (m *machine) allWasted(unlogged *thread.ModelUse) *thread.Metered {
	if unlogged != nil {
		return m.wasted.With(*unlogged)
	}
	return m.wasted
}

// addWasted adds the record of it, if this claim has something to say of it.
func (m *machine) addWasted(records []store.Record, next thread.Head, unlogged *thread.ModelUse) ([]store.Record, error) {
	if unlogged == nil {
		return records, nil
	}
	payload, err := m.records.Encode("wasted calls", m.allWasted(unlogged))
	return append(records, store.Record{Name: store.WastedName(m.id, next.Version), Payload: payload}), err
}

// recallWasted reads it.
func (l *loaded) recallWasted(ctx context.Context) error {
	s, ok := l.head.Stretch()
	if !ok || s.Over || s.Wasted == 0 {
		return nil
	}
	wasted := new(thread.Metered)
	if err := l.readRecord(ctx, "wasted calls", store.WastedName(l.id, s.Wasted), wasted); err != nil {
		return err
	}
	l.wasted = wasted
	return nil
}

// tellUsage tells of the stretch that the last write has ended.
func (d *draft) tellUsage() {
	if u := d.ended; u != nil && d.metering.Ended != nil {
		d.metering.Ended(d.Key.Tenant, *u)
	}
	d.ended = nil
}

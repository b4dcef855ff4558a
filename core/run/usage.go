package run

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Metering says that what runs use is recorded.
type Metering struct {
	// Keep is how long the records are kept.
	Keep time.Duration
	// Memory is that of the function which steps runs, in MB: with it the handler's time
	// is money. 0: nobody bills it.
	Memory int
	// Ended is told of each stretch behind the write that ends it. nil: nobody is.
	Ended func(tenant string, record account.Record)
}

// stay is what a member of a pool was asked before the run left it.
type stay struct {
	member *agent.BoundModel
	model  string // the provider's name of it
	made   int
	took   time.Duration // of all calls so far
	spent  *core.Usage
}

// depart notes what the member that is left was asked.
func (t *turnBuilder) depart() {
	if t.made == 0 {
		return
	}
	t.elsewhere = append(t.elsewhere, stay{t.member, t.asked.Model, t.made, t.tookHere(), sum(t.spent, t.usage)})
	t.made, t.spent, t.usage = 0, nil, nil
}

// tookHere is how long the calls of the member took that is asked now.
func (t *turnBuilder) tookHere() time.Duration {
	took := t.took
	for _, s := range t.elsewhere {
		took -= s.took
	}
	return took
}

// allSpent is what the turn's calls have used in this delivery, whoever was asked; nil:
// nobody says.
func (t *turnBuilder) allSpent() *core.Usage {
	spent := sum(t.spent, t.usage)
	for _, s := range t.elsewhere {
		spent = sum(s.spent, spent)
	}
	return spent
}

// cost is what that has cost the tenant.
func (t *turnBuilder) cost() (cost core.USD) {
	of := func(m *agent.BoundModel, name string, used *core.Usage) {
		if used != nil {
			cost += t.draft.limits.Cost(t.draft.Key.Tenant, m.Provider, name, *used)
		}
	}
	for _, s := range t.elsewhere {
		of(s.member, s.model, s.spent)
	}
	of(t.member, t.asked.Model, sum(t.spent, t.usage))
	return cost
}

// addTo returns m with what the turn's calls of models came to in this delivery.
func (t *turnBuilder) addTo(m *thread.Metered) *thread.Metered {
	for _, s := range t.elsewhere {
		m = m.With(use(s.member, s.model, s.made, s.took, s.spent))
	}
	if t.made > 0 {
		m = m.With(use(t.member, t.asked.Model, t.made, t.tookHere(), sum(t.spent, t.usage)))
	}
	return m
}

func use(m *agent.BoundModel, name string, made int, took time.Duration, spent *core.Usage) thread.ModelUse {
	u := thread.ModelUse{Provider: m.Provider, Model: name, Inferences: made, Millis: took.Milliseconds()}
	if spent != nil {
		u.Usage = *spent
	}
	return u
}

// metered reports whether the turn has something to tell that somebody meters.
func (t *turnBuilder) metered() bool {
	return t != nil && t.draft.metering != nil && (t.made > 0 || len(t.elsewhere) > 0)
}

// meterTurn adds what the model was asked for a step to the run's totals.
func (d *draft) meterTurn(t *turnBuilder) {
	if t.metered() {
		d.totals.Metered = t.addTo(d.totals.Metered)
	}
}

// addUsage adds the record of the stretch to those of the write that ends it. What was
// asked of the model for a turn that came to nothing, unlogged, counts as well; nil is none.
// The run's record notes where the next stretch begins. ends is what is told when the write
// is done; nil: it ends no stretch.
func (d *draft) addUsage(records []store.Record, next thread.Head, result thread.Result, r *thread.RunRecord, unlogged *turnBuilder) (_ []store.Record, ends *account.Record, err error) {
	s := result.Stretch
	if d.metering == nil || s == nil {
		return records, nil, nil
	}
	used, wasted := d.totals.Metered, d.wasted
	if unlogged != nil {
		wasted = unlogged.addTo(wasted)
	}
	base, known := r.Base(*s)
	known = known && d.conversation != nil // else nobody can read what the run has used
	closing := account.Closing{
		Run: d.id, Stretch: *s, User: d.head.Owner, Agent: r.AgentID, End: account.EndWaiting,
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
		return unlogged.addTo(d.wasted)
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
	if u != nil && d.metering.Ended != nil {
		d.metering.Ended(d.Key.Tenant, *u)
	}
}

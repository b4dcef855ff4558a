package run

import (
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

// use is what the turn's calls of the model came to in this delivery; nil is none.
func (t *turnBuilder) use() (use thread.ModelUse, ok bool) {
	if t == nil || t.made == 0 {
		return use, false
	}
	use = thread.ModelUse{Model: t.asked.Model, Inferences: t.made, Millis: t.took.Milliseconds()}
	if m := t.draft.model; m != nil { // it is gone where a closing run could not be read again
		use.Provider = m.Provider
	}
	if spent := sum(t.spent, t.usage); spent != nil {
		use.Usage = *spent
	}
	return use, true
}

// meterTurn adds what the model was asked for a step to the run's totals.
func (d *draft) meterTurn(t *turnBuilder) {
	if d.metering == nil {
		return
	}
	if use, ok := t.use(); ok {
		d.totals.Metered = d.totals.Metered.With(use)
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
// asked of the model for a turn that is not stored, unsaid, counts as well; nil is none.
// The run's record notes where the next stretch begins.
func (d *draft) addUsage(records []store.Record, result thread.Result, r *thread.RunRecord, unsaid *turnBuilder) ([]store.Record, error) {
	s := result.Stretch
	if d.metering == nil || s == nil {
		return records, nil
	}
	used := d.totals.Metered
	if use, ok := unsaid.use(); ok {
		used = used.With(use)
	}
	base, known := r.Base(s.Number)
	closing := usage.Closing{
		Run: d.id, Stretch: *s, User: d.head.Owner, Agent: r.AgentID, End: usage.EndWaiting,
		Used: used, Base: base, Known: known, Memory: d.metering.Memory, Until: d.env.Millis(),
	}
	if r.Termination != nil {
		closing.End = string(r.Termination.Type)
	}
	if r.Status == core.RunWaiting {
		r.Bases = []thread.Base{{Stretch: s.Number, Used: base}, {Stretch: s.Number + 1, Used: used}}
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

// tellUsage tells of the stretch that the last write has ended.
func (d *draft) tellUsage() {
	if u := d.ended; u != nil && d.metering.Ended != nil {
		d.metering.Ended(d.Key.Tenant, *u)
	}
	d.ended = nil
}

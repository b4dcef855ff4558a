package mailbox

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// bill is what one commit charges to the thread's run: the store's units and the worker's
// time. It is made once, for all heads that the commit is tried on: what those attempts
// cost is charged by the next commit.
// The meter belongs to the context of a delivery and counts what its process spends on one
// thread. The head's stretch adds up what the run's commits were charged, and the usage
// record of the run is made from that.
type bill struct {
	made      bool
	meter     *store.Meter // nil: the write is not charged
	spent     core.Spent
	estimated core.Spent // of the newest plan
}

// sinceLastWrite is what this process has spent on the run since its last write. Only work
// under a claim, or work that makes one, is charged: other writes of the same context are about
// other threads.
// The meter is emptied by this, once for a commit: end puts back what was not charged.
func (b *bill) sinceLastWrite(ctx context.Context, key core.ThreadKey, change thread.Change) core.Spent {
	if b.made {
		return b.spent
	}
	b.made = true
	if m := store.MeterOf(ctx); thread.KindOf(change).Worker && m.Of(key) {
		b.meter, b.spent = m, m.Drain()
	}
	return b.spent
}

// charge moves the usage record from the plan's records to where it belongs, and adds to the
// head's stretch what the plan itself will cost, by estimate.
// It is called for every plan: the estimate is for the batch that is sent, and replaces
// that of the plan before.
func (b *bill) charge(p *plan, backend store.Backend) {
	batch := &p.batch
	if i := slices.IndexFunc(batch.Records, func(r store.Record) bool { return r.IsUsage() }); i >= 0 {
		if s := p.result.Stretch; s != nil {
			batch.Usage = &store.Usage{Hour: calendar.Hour(s.Since), Record: batch.Records[i]}
		}
		batch.Records = slices.Delete(batch.Records, i, i+1)
	}
	for i := range batch.Records {
		if recordname.IsWasted(batch.Records[i].Name, batch.Head.Run.ID, batch.Head.Version) {
			batch.Head.Run.Stretch.Waste(batch.Head.Version)
		}
	}
	if e, ok := backend.(store.Estimator); ok && b.meter != nil {
		more := e.EstimateCommit(*batch)
		if p.result.Hint != nil || p.result.Second != 0 { // both are one request
			more.QueueMore += 100
		}
		batch.Head.Run.Stretch.Spend(more)
		b.estimated = more
	}
}

// end accounts for the outcome: what was charged for a write that did not happen is charged
// with the next one.
// After a write that was applied, the meter receives the estimates that were charged, so that
// the calls themselves are not charged again.
func (b *bill) end(unchanged bool, err error) {
	if err != nil || unchanged {
		b.meter.Return(b.spent)
		return
	}
	b.meter.Owe(b.estimated)
}

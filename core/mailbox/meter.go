package mailbox

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// bill is what one commit charges to the thread's run. It is made once, for all heads
// that the commit is tried on: what those tries cost is charged by the next one.
type bill struct {
	made      bool
	meter     *store.Meter
	spent     thread.Spent
	estimated thread.Spent // of the newest plan
}

// spent is what this process has spent on the run since its last write. Only what is
// done under a claim, or takes it, is charged: other writes of the same context are
// about other threads.
func (c *commit) spent(ctx context.Context, change thread.Change) thread.Spent {
	if c.bill.made {
		return c.bill.spent
	}
	c.bill.made = true
	claims := thread.ByHolder(change)
	switch change.(type) {
	case thread.TakeClaim, thread.EnqueueAndClaim:
		claims = true
	}
	if m := store.MeterOf(ctx); claims && m.Of(c.key) {
		c.bill.meter, c.bill.spent = m, m.Take()
	}
	return c.bill.spent
}

// charge takes the usage record out of the plan's records to where it belongs, and adds
// to the head's stretch what the plan itself will cost, by estimate.
func (c *commit) charge() {
	batch := &c.plan.batch
	if i := slices.IndexFunc(batch.Records, func(r store.Record) bool { return r.IsUsage() }); i >= 0 {
		if s := c.plan.result.Stretch; s != nil {
			batch.Usage = &store.Usage{Hour: store.HourOf(s.Since), Record: batch.Records[i]}
		}
		batch.Records = slices.Delete(batch.Records, i, i+1)
	}
	for i := range batch.Records {
		if batch.Records[i].IsWasted(batch.Head.Run.ID, batch.Head.Version) {
			batch.Head.Waste()
		}
	}
	if e, ok := c.store.(store.Estimator); ok && c.bill.meter != nil {
		more := e.EstimateCommit(*batch)
		if c.plan.result.Hint != nil {
			more.QueueMore += 100
		}
		batch.Head.Spend(more)
		c.bill.estimated = more
	}
}

// settle closes the bill: what was charged for a write that did not happen is charged
// with the next one.
func (c *commit) settle(err error) {
	switch {
	case c.bill.meter == nil:
	case err != nil || c.plan.result.Unchanged:
		c.bill.meter.Return(c.bill.spent)
	default:
		c.bill.meter.Owe(c.bill.estimated)
	}
}

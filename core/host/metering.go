package host

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/store"
)

// The commits that end a stretch of a run record its usage (package account). This file
// measures the cost of the process itself: its time, and the requests of its queue.

// handlers divides the time of the process among the handlers that work in it: while n
// handlers are active, each is charged 1/n of the time. A function that works on several
// messages concurrently is billed for its time once.
type handlers struct {
	now func() time.Time

	mu     sync.Mutex    // guards the fields below
	active int           // handlers
	last   time.Time     // up to when each is computed
	each   time.Duration // the share of a handler that has been active from the start
}

// start starts a handler. share returns its time so far, in milliseconds; stop ends it.
func (h *handlers) start() (share func() int64, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.move()
	h.active++
	began := h.each
	share = func() int64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.move()
		return (h.each - began).Milliseconds()
	}
	stop = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.move()
		h.active--
	}
	return share, stop
}

// move computes each up to now. A clock that goes backwards adds nothing. The caller holds
// mu.
func (h *handlers) move() {
	now := h.now()
	if h.active > 0 {
		h.each += max(now.Sub(h.last), 0) / time.Duration(h.active)
	}
	h.last = now
}

// meter counts what the work of a process costs. The zero meter counts nothing.
type meter struct {
	on       bool // usage is recorded
	billed   bool // the time of the process is money
	handlers handlers
}

// start returns a context under which the cost of work on the thread is counted, unless ctx
// already is one or nothing is counted. stop ends the handler's share of the time.
func (m *meter) start(ctx context.Context, key core.ThreadKey) (_ context.Context, stop func()) {
	if !m.on || store.MeterOf(ctx).Of(key) {
		return ctx, func() {}
	}
	share, stop := m.handlers.start()
	ctx = (&store.Meter{Key: key, Handler: share}).In(ctx)
	if n, ok := ctx.Value(batchKey{}).(int); ok {
		store.MeterOf(ctx).Add(core.Spent{Queue: int64(2 * 100 / n)})
	}
	return ctx, stop
}

// batchKey is the context key of the number of messages of a delivery.
type batchKey struct{}

// received returns a context for the messages of one delivery of the queue, which cost
// two requests together: one that received them and one that deletes them.
func (m *meter) received(ctx context.Context, messages int) context.Context {
	if !m.billed {
		return ctx
	}
	return context.WithValue(ctx, batchKey{}, max(messages, 1))
}

// Metering makes a runtime record what runs use, and defines what it costs.
type Metering struct {
	// Keep is how long records are kept; 0: 396 days, 13 months.
	Keep time.Duration
	// Memory is that of this process if it is a function, in MB: with it, its time has a
	// cost. 0: its time is not billed.
	Memory int
	// Models has the prices of models; nil: the cost of models is unknown.
	Models *catalog.Catalog
	// Rates returns the prices of the cloud. It is called for reports only; nil: they are
	// unknown.
	Rates func() (account.Rates, error)
	// Ended is called with each stretch of a run that this process has ended; nil: none.
	Ended func(tenant string, record account.Record)
}

// run returns the part that the stepper needs; nil: it records nothing.
func (m *Metering) run() *accounting.Metering {
	if m == nil {
		return nil
	}
	return &accounting.Metering{Keep: m.keep(), Memory: m.Memory, Ended: m.Ended}
}

// keep returns how long records are kept; 0: nothing is recorded.
func (m *Metering) keep() time.Duration {
	if m == nil {
		return 0
	}
	return cmp.Or(m.Keep, accounting.DefaultKeep)
}

// prices returns the prices of models, of none if they are unknown. Lists of runs and the
// description of models use the same as the report of the usage: a price has one home.
func (m *Metering) prices() *catalog.Catalog {
	if m == nil || m.Models == nil {
		return &catalog.Catalog{}
	}
	return m.Models
}

// price returns the function that prices runs; nil: nothing is recorded, so that no run has
// a price. It uses the prices of the day on which the run started.
//
// It prices the usage that the run's record has, so that cost and tokens of a run always
// agree. Calls for turns that no log has are in reports only: see [Host.Report].
func (m *Metering) price() func(*core.Run, []core.ModelUse) *core.Cost {
	if m == nil {
		return nil
	}
	models := m.prices()
	return func(run *core.Run, used []core.ModelUse) *core.Cost {
		if len(used) == 0 { // only a run that has ended without a call of a model is known to be free
			if run.Status != core.RunDone || run.Usage != (core.Usage{}) {
				return nil
			}
			return &core.Cost{Known: true}
		}
		sum := core.Cost{Known: true}
		for _, u := range used {
			cost, known := models.Cost(u.Provider, u.Model, u.Usage, time.UnixMilli(run.StartedAt))
			if !known {
				return &core.Cost{}
			}
			sum.USD += cost
		}
		return &sum
	}
}

// newLedger returns the ledger and the meter of a runtime. The ledger is nil if usage is not
// recorded, and the meter then counts nothing.
func newLedger(c *Options) (*accounting.Ledger, *meter, error) {
	m := c.Metering
	if m == nil {
		return nil, &meter{}, nil
	}
	ledger, err := accounting.NewLedger(accounting.LedgerOptions{Store: c.Store, Now: c.Env.Now, Records: c.Records, Keep: m.keep(), Models: m.Models, Rates: m.Rates})
	return ledger, &meter{on: true, billed: m.Memory > 0, handlers: handlers{now: c.Env.Now}}, err
}

// errUnrecorded refuses reports of usage that is not recorded.
var errUnrecorded = core.Errorf(core.CodeNotFound, "usage is not recorded here")

// Report returns the usage of a tenant, in order of day, user, agent, run, root and model. It
// includes everything that was committed before the call. More than 5,000 rows, or 100,000
// records of a report by runs, are core.CodeInvalid. The error is core.CodeNotFound if usage is
// not recorded.
func (r *Host) Report(ctx context.Context, q account.Query) ([]account.Row, error) {
	if r.ledger == nil {
		return nil, errUnrecorded
	}
	return r.ledger.Report(ctx, q)
}

// ReportHours returns the usage of a tenant in each hour of a query; hours without usage have
// zeros. A run counts in the hour in which it began, once it has ended or waits. The error
// is core.CodeNotFound if usage is not recorded, and core.CodeInvalid for more than 2,400
// hours.
func (r *Host) ReportHours(ctx context.Context, q account.HourQuery) ([]account.Hour, error) {
	if r.ledger == nil {
		return nil, errUnrecorded
	}
	return r.ledger.Hours(ctx, q)
}

// SumUsage sums the records of past hours of usage, until the time is over, and returns how
// many hours it did. It does nothing if usage is not recorded.
func (r *Host) SumUsage(ctx context.Context, until time.Time) (summed int, err error) {
	if r.ledger == nil {
		return 0, nil
	}
	return r.ledger.SumNext(ctx, until)
}

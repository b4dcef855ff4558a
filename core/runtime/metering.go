package runtime

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// handlers share the time of the process among what it works on: while n handlers are
// under way, a second is the nth of a second of each. It is what is billed of a function
// that works on several messages at once.
type handlers struct {
	now func() time.Time

	mu     sync.Mutex
	active int
	last   time.Time
	each   time.Duration // what a handler would have that had been there from the start
}

// start begins a handler. share returns its part so far, in milliseconds; stop ends it.
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

// move brings each up to now; the caller holds the lock.
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

// start returns a context under which what is spent on the thread is counted, unless
// nothing is or ctx is one already. stop ends the handler's share of the time.
func (m *meter) start(ctx context.Context, key core.ThreadKey) (_ context.Context, stop func()) {
	if !m.on || store.MeterOf(ctx).Of(key) {
		return ctx, func() {}
	}
	share, stop := m.handlers.start()
	ctx = store.WithMeter(ctx, key, share)
	if n, ok := ctx.Value(batchKey{}).(int); ok {
		store.MeterOf(ctx).Add(thread.Spent{Queue: int64(2 * 100 / n)})
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

// Metering says that what runs use is recorded, and what it costs.
type Metering struct {
	Keep   time.Duration    // how long; 0: account.DefaultKeep
	Memory int              // of this process where it is a function, in MB: with it its time is money. 0: nobody bills it
	Models *catalog.Catalog // what models cost; nil: nothing is known of it
	// Rates says what the cloud asks, when somebody wants to know; nil: nothing is known of it.
	Rates func() (account.Rates, error)
	// Ended is told of each stretch of a run that this process has ended. nil: nobody is.
	Ended func(tenant string, record account.Record)
}

// run is what the stepper needs of it.
func (m *Metering) run() *run.Metering {
	if m == nil {
		return nil
	}
	return &run.Metering{Keep: m.keep(), Memory: m.Memory, Ended: m.Ended}
}

// keep is how long records are kept; 0 where nothing is recorded.
func (m *Metering) keep() time.Duration {
	if m == nil {
		return 0
	}
	return cmp.Or(m.Keep, account.DefaultKeep)
}

// newLedger makes the ledger and the meter of a runtime that records usage; the ledger of
// any other is nil.
func newLedger(c *Config) (*account.Ledger, *meter, error) {
	m := c.Metering
	if m == nil {
		return nil, &meter{}, nil
	}
	ledger, err := account.NewLedger(account.LedgerOptions{Store: c.Store, Now: c.Env.Now, Records: c.Records, Keep: m.keep(), Models: m.Models, Rates: m.Rates})
	return ledger, &meter{on: true, billed: m.Memory > 0, handlers: handlers{now: c.Env.Now}}, err
}

// Report returns what a tenant has used, see [account.Ledger.Report]. Where nothing is
// recorded it is core.CodeNotFound.
func (r *Runtime) Report(ctx context.Context, q account.Query) ([]account.Row, error) {
	if r.ledger == nil {
		return nil, core.Errorf(core.CodeNotFound, "usage is not recorded here")
	}
	return r.ledger.Report(ctx, q)
}

// SumUsage sums hours of usage that have passed, see [account.Ledger.SumNext].
func (r *Runtime) SumUsage(ctx context.Context, until time.Time) (summed int, err error) {
	if r.ledger == nil {
		return 0, nil
	}
	return r.ledger.SumNext(ctx, until)
}

package mailbox

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Options configures a Service. Env, Store and Waker are required.
type Options struct {
	Env    *env.Env
	Store  store.Backend
	Waker  Waker
	Logger *slog.Logger // nil: slog.Default
	// Records has the schemas that the program reads and writes.
	Records thread.Records
	// Worker is the name in claims, 1 to 64 bytes; empty: "worker". It helps people who read a
	// mailbox: the program identifies claims by their fences.
	Worker string
	// Lease is how long a claim holds without renewal; 0: 30 seconds.
	Lease time.Duration
	// SweepAhead is how far a sweep looks ahead: threads that become due within it are sent hints
	// with a delay. It is for a queue whose hints are lost with the process, and must be longer
	// than the interval of the sweeps; the queue must keep one hint of each thread, since
	// each sweep sends it again. 0: a sweep wakes threads that are due.
	SweepAhead time.Duration
	// Fits checks the payload of a decision against what its ticket asks for, before it is
	// stored; see toolcall.CheckDecision. nil: nothing is checked.
	Fits func(core.Ticket, core.Decision) error
	// Accepts checks arguments that a decision puts in place of the model's against the tool
	// of the run's agent, before the decision is stored. If this program cannot resolve the
	// tool, it returns nil. nil: they are checked only when the call runs.
	Accepts func(ctx context.Context, run thread.RunRecord, tool string, arguments json.RawMessage) error
	// Moved receives every head that this service has written, after the write and before
	// its hint, so that watchers of a thread in this process need not read the store. It
	// must not block; heads of one thread may come out of order. nil: there are no watchers.
	Moved func(core.ThreadKey, thread.Head)
	// Publisher receives the progress of runs, from [Service.Deliver]. nil: nothing is
	// published, and the announcements in heads wait for another process.
	Publisher Publisher
	// Quarantined receives each thread that this service has quarantined, see
	// [Service.Quarantine], on a wake-up. It must not block. nil: only the log has it.
	Quarantined func(core.ThreadKey)
	// KeepUsage is how long usage records are kept, see package account: heads keep when their
	// run's stretch started, and what was spent on it. 0: nothing is recorded.
	KeepUsage time.Duration
	// Price returns what a run has cost, by the models that it has used; nil: that is not
	// known of it. A nil Price prices none.
	Price func(*core.Run, []core.ModelUse) *core.Cost
	// Announce makes writes leave announcements in the head for a publisher of another
	// process. It is implied by Publisher.
	Announce bool
	// Limits are what tenants may use: runs are admitted before they are enqueued, and slots
	// are swept.
	Limits account.Tenants
}

// defaultLease is how long a claim holds without renewal.
const defaultLease = 30 * time.Second

// Service is the mailbox. It is safe for concurrent use. It has no state that two callers,
// or two processes, would have to agree on: that is in the head, and the store's
// compare-and-set is the only lock.
//
// reads, wakes, slots and writer are its parts: none of them knows the Service, or a part
// that comes after it.
type Service struct {
	env     *env.Env
	store   store.Backend
	records thread.Records
	woken   func(thread.Head, thread.Result) ([]store.Record, error) // see wokenIn
	waker   Waker
	log     *slog.Logger

	worker    string
	lease     time.Duration
	ahead     time.Duration      // of a sweep
	keep      time.Duration      // how long usage is kept; 0: nothing is metered
	ledger    *accounting.Ledger // sums the records of usage
	fits      func(core.Ticket, core.Decision) error
	aside     func(core.ThreadKey) // receives quarantined threads; nil: none
	accepts   func(context.Context, thread.RunRecord, string, json.RawMessage) error
	publisher Publisher

	reads  reader // stored records
	wakes  wakes  // hints
	slots  slots  // of the tenants' limits
	writer writer // heads
}

// New returns a Service. core.CodeInvalid: a required option is missing, the worker's name
// is too long, or a limit is out of range.
func New(o Options) (*Service, error) {
	if o.Env == nil || o.Store == nil || o.Waker == nil {
		return nil, core.Errorf(core.CodeInvalid, "mailbox: Env, Store and Waker are required")
	}
	o.Worker = cmp.Or(o.Worker, "worker")
	if len(o.Worker) > thread.MaxWorkerName {
		return nil, core.Errorf(core.CodeInvalid, "mailbox: worker name of %d bytes, at most %d are allowed", len(o.Worker), thread.MaxWorkerName)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Lease = cmp.Or(o.Lease, defaultLease)
	gate, err := accounting.NewGate(accounting.GateOptions{Env: o.Env, Store: o.Store, Limits: o.Limits})
	if err != nil {
		return nil, err
	}
	ledger, err := accounting.NewLedger(accounting.LedgerOptions{Store: o.Store, Now: o.Env.Now, Records: o.Records, Keep: o.KeepUsage})
	if err != nil {
		return nil, err
	}
	s := &Service{
		env: o.Env, store: o.Store, records: o.Records, woken: wokenIn(o.Records), waker: o.Waker, log: o.Logger,
		worker: o.Worker, lease: o.Lease, ahead: o.SweepAhead, keep: o.KeepUsage, fits: o.Fits, aside: o.Quarantined, accepts: o.Accepts, publisher: o.Publisher,
		ledger: ledger,
		reads:  reader{env: o.Env, store: o.Store, records: o.Records, price: o.Price},
		wakes:  wakes{env: o.Env, waker: o.Waker, log: o.Logger},
	}
	s.slots.env, s.slots.gate, s.slots.reads, s.slots.log = o.Env, gate, s.reads, o.Logger
	s.slots.enqueueTime = o.Lease + time.Minute
	s.writer = writer{
		env: o.Env, store: o.Store, records: o.Records, reads: s.reads, wakes: s.wakes, slots: &s.slots,
		due: o.Store.DuePolicy(), second: secondLease(o.Waker, o.Lease), announcing: o.Announce || o.Publisher != nil, metered: o.KeepUsage > 0, moved: o.Moved,
	}
	return s, nil
}

// Lease is how long the service's claims hold.
func (s *Service) Lease() time.Duration { return s.lease }

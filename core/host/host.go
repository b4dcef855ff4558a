package host

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/stop"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// Host is the facade over the core. It is safe for concurrent use: New sets its
// fields, and the parts that change (permits, watches, the stepper's memory) have their own
// locks.
//
// Hosts and programs call its exported methods. They share the parts below, none
// of which knows the Host.
type Host struct {
	env     *env.Env
	agents  *registry.Registry
	mailbox *mailbox.Service   // all writes of heads
	stepper *run.Stepper       // all steps of this process
	ledger  *accounting.Ledger // nil: usage is not recorded
	limits  *accounting.Gate
	prices  *catalog.Catalog // of models
	watches *watches
	queue   *Queue     // of this process; nil: the hints go to another queue
	reads   *reader    // on behalf of callers
	submits *submitter // in the background
	worker  *worker
	streams *streams
	workers *workers // of Work
	player  *player  // of Play and Await
}

// The defaults of Options.Reserve and Options.FollowInterval, and the longest interval
// between two looks at what a model says in another process.
const (
	defaultReserve = 20 * time.Second
	defaultFollow  = 500 * time.Millisecond
	chunkEvery     = 500 * time.Millisecond
)

// New checks the options and resolves every agent, so that what is
// broken fails here and not at the first request.
func New(c Options) (*Host, error) {
	r, err := build(c)
	if err != nil {
		return nil, fmt.Errorf("build host: %w", err)
	}
	return r, nil
}

// build makes the parts from the lowest to the highest: each is given those that it uses.
// Only moved, which the mailbox calls, needs parts that are made after the mailbox; nothing
// is written before build returns.
func build(c Options) (*Host, error) {
	c.complete()
	agents, err := checkAgents(&c)
	if err != nil {
		return nil, err
	}
	log := c.Logger
	if log == nil {
		log = slog.Default()
	}
	warn(log, agents, c.Env.Now())
	r := &Host{env: c.Env, agents: agents, prices: c.Metering.prices()}
	r.queue, _ = c.Waker.(*Queue)
	var meter *meter
	if r.ledger, meter, err = newLedger(&c); err != nil {
		return nil, err
	}
	if r.limits, err = accounting.NewGate(accounting.GateOptions{Env: c.Env, Store: c.Store, Limits: c.Limits, Cost: c.Prices}); err != nil {
		return nil, err
	}
	if err := checkPrices(agents, c); err != nil {
		return nil, err
	}
	// A head that this process has written goes to the steps that work on the thread and to the
	// calls that wait for it.
	//
	// The stepper drops what it has cached of an older head, the watches wake the streams that
	// follow the thread, and a queue of this process learns that its thread is free.
	moved := func(key core.ThreadKey, head thread.Head) {
		r.stepper.Moved(key, head)
		r.watches.moved(key, head)
		if r.queue != nil {
			r.queue.moved(key)
		}
	}
	pinned := pins.New(agents, c.Store)
	r.mailbox, err = mailbox.New(mailbox.Options{
		Env: c.Env, Store: c.Store, Waker: c.Waker, Logger: c.Logger, Records: c.Records, Worker: c.Worker, Lease: c.Lease, SweepAhead: c.SweepAhead,
		Fits: toolcall.CheckDecision, Accepts: accepts(pinned), Moved: moved, Publisher: c.Publisher, Announce: c.Announce,
		KeepUsage: c.Metering.keep(), Price: c.Metering.price(), Limits: c.Limits, Quarantined: c.Quarantined,
	})
	if err != nil {
		return nil, err
	}
	r.watches = newWatches(c.Env, r.mailbox.Head, cmp.Or(c.FollowInterval, defaultFollow), log)
	r.watches.left = r.mailbox.WakeLeft
	r.submits = &submitter{agents: agents, mailbox: r.mailbox}
	causes, checks := newCauses(), newChecks()
	compact := r.mailbox.WakeToCompact
	if r.queue != nil { // a call that waits would make it late: the step that needs a summary makes it
		compact = nil
	}
	r.stepper, err = run.New(run.Options{
		Env: c.Env, Store: c.Store, Committer: r.mailbox, Agents: pinned, Records: c.Records, Stops: c.Stops,
		Logger: c.Logger, Observer: observe(c.Observer, c.Report), Lease: r.mailbox.Lease(), Poll: c.Poll, Window: c.Window, CacheSize: c.CacheSize, Snapshot: c.Snapshot, LeaveFor: c.LeaveFor,
		Profiles: func(tenant string) state.Profiles { return store.ProfilesOf(c.Store, tenant) },
		Children: children{r.submits, pinned}, Others: others{mailbox: r.mailbox, store: c.Store, records: c.Records}, Chunks: !c.alone, Said: r.watches.spoke, Metering: c.Metering.run(), Limits: r.limits, Compact: compact, Failed: causes.note, Accept: checks.accept,
	})
	if err != nil {
		return nil, err
	}
	assemble(r, &c, log, meter, causes, checks)
	return r, nil
}

// warnedBefore is how long before its day a warning is logged.
const warnedBefore = 60 * 24 * time.Hour

// warn logs what is odd about the agents' specs.
func warn(log *slog.Logger, agents *registry.Registry, now time.Time) {
	soon := now.Add(warnedBefore).UTC().Format(time.DateOnly)
	for _, w := range agents.Warnings() {
		if w.Day > soon {
			continue
		}
		log.Warn("agent spec: "+w.Message, "agent", w.Agent, "field", w.Field)
	}
}

// assemble makes the parts above the mailbox and the stepper, which read, step and show.
func assemble(r *Host, c *Options, log *slog.Logger, meter *meter, causes *causes, checks *checks) {
	reserve := cmp.Or(c.Reserve, defaultReserve)
	if r.queue != nil {
		reserve = 0 // no delivery ends, before which a run would have to return to the queue
	}
	r.reads = &reader{env: c.Env, log: log, store: c.Store, records: c.Records, mailbox: r.mailbox, local: c.alone}
	r.worker = &worker{
		env: c.Env, log: log, mailbox: r.mailbox, stepper: r.stepper, permits: newPermits(c.Env), meter: meter,
		steps: c.Steps, reserve: reserve,
	}
	r.workers = &workers{
		env: c.Env, log: log, store: c.Store, mailbox: r.mailbox, worker: r.worker, queue: r.queue, number: cmp.Or(c.Workers, defaultWorkers),
	}
	r.streams = &streams{
		env: c.Env, log: log, reads: r.reads, mailbox: r.mailbox, stepper: r.stepper, agents: r.agents, watches: r.watches, worker: r.worker, queue: r.queue,
		limits: followLimits{reserve: reserve, patience: c.FollowFor}, chunkEvery: min(r.watches.interval, chunkEvery), process: c.Worker,
	}
	r.player = &player{
		env: c.Env, agents: r.agents, submits: r.submits, mailbox: r.mailbox, stepper: r.stepper, reads: r.reads, worker: r.worker, streams: r.streams,
		causes: causes, checks: checks, alone: c.alone,
	}
}

// checkAgents returns the resolved agents of a configuration, or what is wrong with them.
func checkAgents(c *Options) (agents *registry.Registry, err error) {
	if agents = c.Registry; agents == nil {
		if agents, err = registry.New(c.Agents); err != nil {
			return nil, err
		}
	}
	if err := stop.CheckAll("Options.Stops", c.Stops); err != nil {
		return nil, err
	}
	if len(agents.IDs()) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "no agent is registered")
	}
	return agents, nil
}

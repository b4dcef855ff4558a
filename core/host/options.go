package host

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Config is what a Runtime is built of. At least one agent is required; every other zero
// value has the default that its field names.
type Options struct {
	// Env is the clock, ids and randomness; nil: the system's.
	Env *env.Env
	// Store has the threads; nil: they are in memory, for this process alone. If Waker is nil
	// too, a run is cancelled when the call that waits for it gives it up.
	Store store.Backend
	// Waker sends wake-ups to the queue whose messages [Host.WorkBatch] or
	// [Host.WorkLocal] handle; nil, or a [Queue]: this process's own. Then [Host.Work]
	// and the calls that wait for a run take the steps.
	Waker mailbox.Waker
	// Workers is the number of runs whose steps Work takes concurrently; 0: 16.
	Workers int
	// Agents are resolved by New.
	Agents agent.Parts
	// Registry holds agents that are already resolved; Agents is ignored then. nil: New
	// resolves Agents.
	Registry *registry.Registry
	// Stops are the stop policies of every run, after those of its agent.
	Stops []agent.StopPolicy
	// Logger receives warnings and errors; nil: slog.Default, of a process whose queue is its own
	// warnings and errors alone: the call that waits reports how its run ended.
	Logger *slog.Logger
	// Observer receives the outcome of each step of this process, for metrics; nil: none.
	Observer Observer
	// Report is called after each step of this process with what operators count of it,
	// in the step's goroutine, which waits for it; nil: none. It is called for a step whose
	// writes were refused too, and not for one whose process has died.
	Report func(StepReport)
	// Quarantined receives each thread with a damaged head that this process has quarantined,
	// and must not block; nil: only the log has it.
	Quarantined func(core.ThreadKey)

	// Metering records what runs use, see package account; nil: nothing is recorded. All
	// programs on one store should agree.
	Metering *Metering
	// Publisher is notified of what happens to runs, by the processes that work on
	// wake-ups; nil: none is. Announce is for the other processes: their writes leave
	// announcements for it.
	Publisher mailbox.Publisher
	Announce  bool

	// Limits bounds what tenants may use; zero: nothing is limited, at no cost.
	Limits account.Tenants
	// Prices returns the cost of a model of a provider, for tenants whose spending is
	// limited. New refuses a model whose price it does not know if any spending is
	// limited. nil: it knows none.
	Prices func(provider, model string, usage core.Usage, at time.Time) (cost core.USD, ok bool)

	// Records has the schemas that the program reads and writes; zero: 1.
	Records thread.Records
	// Worker is the name of this process in claims; empty: one is made if the queue is its own.
	Worker string
	// Lease is how long a claim lasts unless it is renewed; 0: 30 s.
	Lease time.Duration
	// SweepAhead is how far [Host.Sweep] looks ahead: threads that become due within it are
	// sent hints with a delay. It is for a Waker that passes its hints to a [Queue], and must be
	// longer than the interval of the sweeps. 0: of a Queue 10 s, of another Waker none.
	SweepAhead time.Duration
	// Poll is the interval between looks for a cancel; capped at Lease/6; 0: 2 s.
	Poll time.Duration

	// LeaveFor is how long a run waits for another build if this one lacks its agent, or
	// part of it: during a release two builds share the queue. 0: 10 minutes; negative: it
	// does not wait, for a process that is the only one of its store.
	LeaveFor time.Duration

	// Window bounds how much of a conversation a model is sent, in tokens, in addition to
	// the limits of its agent and the model; 0: they decide.
	Window int
	// CacheSize bounds the conversations that are kept in memory, in bytes of the heap; 0: 64
	// MiB. With GOGC=100, the garbage collector allows as much garbage again.
	CacheSize int
	// Snapshot is how many turns of a thread pass until its state is stored again, in
	// addition to the start of each run that finds it changed; 0: 16.
	Snapshot int

	// Steps is how many steps one delivery may take while time is left; 0: 1.
	Steps int
	// Reserve is the time that must remain to start another step of an inline run. With less,
	// the queue brings the run to another worker; 0: 20 s.
	Reserve time.Duration
	// FollowInterval is how often a followed thread is read for the commits of other
	// processes; those of this process need no read. 0: 500 ms.
	FollowInterval time.Duration
	// FollowFor is how long a stream that only follows lasts until it ends with
	// run_yield, for hosts that do not notice a client that has gone; 0: as long as the
	// run, the reader and the context last.
	FollowFor time.Duration

	alone bool // no other process has the store, which ends with this one
}

// In memory a step notices soon that another call has cancelled or interrupted its run, since
// a read costs nothing, and no other process's commits have to be looked for.
const (
	alonePoll   = 50 * time.Millisecond
	aloneFollow = time.Minute
)

// complete fills in the environment, the store and the queue, and what follows from there
// being no other process.
func (c *Options) complete() {
	if c.Env == nil {
		c.Env = env.System()
	}
	if c.Store == nil {
		c.Store, c.alone = memory.New(), c.Waker == nil
	}
	if c.Waker == nil {
		c.Waker = NewQueue(c.Env)
	}
	if _, own := c.Waker.(*Queue); own {
		if c.Logger == nil {
			c.Logger = slog.New(warnings{slog.Default().Handler()})
		}
		if c.Worker == "" && !c.alone { // other processes may have the store
			c.Worker = c.Env.NewID().String()
		}
		c.SweepAhead = cmp.Or(c.SweepAhead, 2*sweepEvery)
	}
	if c.alone {
		c.Poll, c.LeaveFor = cmp.Or(c.Poll, alonePoll), cmp.Or(c.LeaveFor, -1)
		c.FollowInterval = cmp.Or(c.FollowInterval, aloneFollow)
	}
}

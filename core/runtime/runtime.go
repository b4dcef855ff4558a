package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/limit"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/core/usage"
)

// Config is what a Runtime is built of. Env, Store, Waker and at least one
// agent are required.
type Config struct {
	Env    *env.Env
	Store  store.Backend
	Waker  mailbox.Waker
	Agents agent.Parts
	// Registry holds agents that are resolved already; nil: Build resolves Agents.
	Registry *agent.Registry
	Stops    []stop.Policy // of every run, asked behind those of its agent
	Logger   *slog.Logger  // nil: slog.Default
	// Observer is told what the steps of this process come to, for metrics; nil:
	// nobody is.
	Observer run.Observer

	// Metering records what runs use, see package usage; nil: nothing is recorded. All
	// programs on one store should agree.
	Metering *Metering
	// Publisher is told what happens to runs, by the processes that work on wake-ups.
	// Announce is for the others: their writes leave announcements for it. nil and
	// false: nothing is announced.
	Publisher mailbox.Publisher
	Announce  bool

	// Limits bounds what tenants may use; zero: nothing is limited, at no cost. Prices says
	// what models of providers cost, for tenants whose money is limited: a model whose price it does not
	// know fails Build then. nil: it knows none.
	Limits limit.Tenants
	Prices func(provider, model string, usage core.Usage, at time.Time) (cost core.USD, ok bool)

	Records thread.Records // the schemas that the program reads and writes; zero: 1
	Worker  string         // this process's name in claims
	Lease   time.Duration  // of a claim; 0: 30 s
	Poll    time.Duration  // interval between looks for a cancel; capped at Lease/6; 0: 2 s

	// LeaveFor is how long a run is left to another build that has what this one lacks of
	// its agent, or the agent itself: during a release two builds share the queue. 0: 10
	// minutes, negative: not at all, for a process that is the only one of its store.
	LeaveFor time.Duration

	// Window is how much of a conversation a model is shown at most, in tokens, whatever
	// its agent and the model allow; 0: they decide. CacheSize bounds the conversations that are kept in
	// memory, in bytes; 0: 64 MiB.
	Window    int
	CacheSize int
	// Snapshot is how many turns of a thread go by until its state is stored
	// again, besides at the start of a run that finds it changed; 0: 16.
	Snapshot int

	// Steps is how many steps one delivery may take while time is left; 0: 1.
	Steps int
	// Reserve is the time that must be left to begin another step of an inline
	// run; with less the run goes to the queue; 0: 20 s.
	Reserve time.Duration
	// FollowInterval is how often a thread that is followed is read, for the
	// commits of other processes: this one's own need no look. 0: 500 ms.
	FollowInterval time.Duration
	// FollowFor is how long a stream that only follows goes on until it ends with
	// run_yield, for hosts that do not see that a client has gone; 0: as long as
	// the run, the reader and the context do.
	FollowFor time.Duration
}

// Runtime is the facade over the core. It is safe for concurrent use: its fields are
// set by Build, and what changes behind them (turns, watches, the stepper's memory)
// has locks of its own.
type Runtime struct {
	env      *env.Env
	store    store.Backend
	ledger   *usage.Ledger // nil: nothing is metered
	handlers handlers
	billed   bool // its time is
	mailbox  *mailbox.Service
	stepper  *run.Stepper
	agents   *agent.Registry
	records  thread.Records
	log      *slog.Logger
	turns    *turns
	steps    int
	reserve  time.Duration
	watches  *watches
	patience time.Duration // Config.FollowFor
	// chunkEvery is how often a follower looks for what a model says in another process.
	chunkEvery time.Duration
	worker     string // Config.Worker
	limits     *limit.Gate
	causes     *causes
	checks     *checks
	solo       *solo // of New: whoever waits does the work; nil: workers do
}

// chunkEvery is Runtime.chunkEvery, unless threads are read more often.
const chunkEvery = 500 * time.Millisecond

// Build checks the configuration and resolves every agent, so that what is
// broken fails here and not at the first request.
func Build(c Config) (*Runtime, error) {
	agents := c.Registry
	if agents == nil {
		var err error
		if agents, err = agent.NewRegistry(c.Agents); err != nil {
			return nil, fmt.Errorf("build runtime: %w", err)
		}
	}
	if err := stop.CheckAll("Config.Stops", c.Stops); err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	if len(agents.IDs()) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "build runtime: no agent is registered")
	}
	r := &Runtime{causes: newCauses(), checks: newChecks(),
		env: c.Env, store: c.Store, agents: agents, records: c.Records, turns: newTurns(c.Env),
		log: c.Logger, steps: max(c.Steps, 1), reserve: c.Reserve, patience: c.FollowFor, worker: c.Worker,
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	for _, w := range agents.Warnings() {
		r.log.Warn("agent spec: "+w.Message, "agent", w.Agent, "field", w.Field)
	}
	if r.reserve == 0 {
		r.reserve = 20 * time.Second
	}
	if c.FollowInterval == 0 {
		c.FollowInterval = 500 * time.Millisecond
	}
	r.chunkEvery = min(c.FollowInterval, chunkEvery)
	r.watches = newWatches(c.Env, r.head, c.FollowInterval, r.log)
	r.solo, _ = c.Waker.(*solo)
	if err := r.meter(&c); err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	var err error
	if r.limits, err = limit.New(limit.Options{Env: c.Env, Store: c.Store, Limits: c.Limits, Cost: c.Prices}); err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	if err := checkPrices(agents, c); err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	r.mailbox, err = mailbox.New(mailbox.Options{
		Env: c.Env, Store: c.Store, Waker: c.Waker, Logger: c.Logger, Records: c.Records, Worker: c.Worker, Lease: c.Lease,
		Fits: tool.CheckDecision, Moved: r.moved, Publisher: c.Publisher, Announce: c.Announce,
		KeepUsage: c.Metering.keep(), Limits: r.limits,
	})
	if err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	compact := r.mailbox.WakeToCompact
	if r.solo != nil { // there is no queue, and no other process: the step that needs a summary makes it
		compact = nil
	}
	r.stepper, err = run.New(run.Options{
		Env: c.Env, Store: c.Store, Committer: r.mailbox, Agents: agent.NewPins(agents, c.Store, r.log), Records: c.Records, Stops: c.Stops,
		Logger: c.Logger, Observer: c.Observer, Lease: r.mailbox.Lease(), Poll: c.Poll, Window: c.Window, CacheSize: c.CacheSize, Snapshot: c.Snapshot, LeaveFor: c.LeaveFor,
		Profiles: func(tenant string) state.Profiles { return store.ProfilesOf(c.Store, tenant) },
		Children: children{r}, Chunks: r.solo == nil, Said: r.watches.spoke, Metering: c.Metering.run(), Limits: r.limits, Compact: compact, Failed: r.causes.note, Accept: r.checks.accept,
	})
	if err != nil {
		return nil, fmt.Errorf("build runtime: %w", err)
	}
	return r, nil
}

// moved tells the steps that work on a thread, and those who wait for it, of a head that
// this process has written.
func (r *Runtime) moved(key core.ThreadKey, head thread.Head) {
	r.stepper.Moved(key, head)
	r.watches.moved(key, head)
	if r.solo != nil {
		r.solo.moved(key)
	}
}

// head reads a thread's head.
func (r *Runtime) head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	return r.mailbox.Head(ctx, key)
}

// HasAgent reports whether the agent is registered.
func (r *Runtime) HasAgent(id string) bool { return r.agents.Has(id) }

// DefaultAgent returns the id of the agent of requests that name none
// (agent.Parts.Default); empty: they are to be refused.
func (r *Runtime) DefaultAgent() string { return r.agents.Default() }

// Exposed returns what clients are offered to call: agents, and tools by themselves.
func (r *Runtime) Exposed() []agent.Exposed { return r.agents.Exposed() }

// Submit enqueues a run in the background. When it returns, the submission is
// durable; its errors are mailbox.Service.Submit's, and core.CodeNotFound for an
// agent that is not registered.
func (r *Runtime) Submit(ctx context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	return r.mailbox.Submit(ctx, s)
}

func (r *Runtime) known(s mailbox.Submission) error {
	if s.AgentID == "" {
		return nil // Submission.Check says so better
	}
	resolved, err := r.agents.Resolve(s.AgentID)
	if err != nil || s.Frontend == nil {
		return err
	}
	return resolved.CheckFrontend(s.Frontend)
}

// MaxAbandoned is how many tools that were left behind make a process unhealthy.
const MaxAbandoned = 16

// Abandoned is how many tools were left behind, because they did not end when
// their context did, and still run in this process.
func (r *Runtime) Abandoned() int { return r.stepper.Abandoned() }

// EffectFailures is how many effects have failed since this process began: nothing
// rolls back what they came with, so that nobody else is told but the log.
func (r *Runtime) EffectFailures() int64 { return r.stepper.EffectFailures() }

// Healthy returns nil, or why the process should be replaced, with code
// unavailable: tools that were left behind hold their goroutines and whatever they
// use until they end, and nothing but the end of the process can stop them.
func (r *Runtime) Healthy() error { return healthy(r.Abandoned()) }

// Ready returns nil when the store can be reached: it reads the head of a thread that
// nobody has.
func (r *Runtime) Ready(ctx context.Context) error {
	_, err := r.store.Head(ctx, core.ThreadKey{Tenant: "health", Thread: "health"})
	return err
}

func healthy(abandoned int) error {
	if abandoned < MaxAbandoned {
		return nil
	}
	return core.Errorf(core.CodeUnavailable, "%d tools do not end when they are told to, and still run; fewer than %d are allowed", abandoned, MaxAbandoned)
}

// timeLeft reports whether another step may begin before the deadline.
func (r *Runtime) timeLeft(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(r.env.Now()) > r.reserve
}

// Sweep wakes every overdue thread and returns how many.
func (r *Runtime) Sweep(ctx context.Context) (int, error) { return r.mailbox.Sweep(ctx) }

// Reclaim takes back the claims on threads whose holders are known to be gone.
func (r *Runtime) Reclaim(ctx context.Context, keys []core.ThreadKey) error {
	return r.mailbox.Reclaim(ctx, keys)
}

// Rewake is the dead-letter queue's consumer: mailbox.Service.Rewake.
func (r *Runtime) Rewake(ctx context.Context, hint core.WakeUp) (bool, error) {
	return r.mailbox.Rewake(ctx, hint)
}

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

// timeLeft reports whether another step may begin before the deadline.
func (r *Runtime) timeLeft(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(r.env.Now()) > r.reserve
}

package runtime

import (
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
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

	// Metering records what runs use, see package account; nil: nothing is recorded. All
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
	Limits account.Tenants
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

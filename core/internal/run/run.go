package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/stop"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// Committer changes heads; the mailbox implements it.
type Committer interface {
	// Commit applies a change and stores it with the records of build, which is
	// called for every head that the change is tried on. An error of thread's
	// reports that it was refused. ErrFenced means that the claim is lost, and
	// store.ErrConflict that the holder's own records are in the way and it must
	// refence.
	Commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
		build func(thread.Head, thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error)
	Head(ctx context.Context, key core.ThreadKey) (thread.Head, error)
}

// Store has the reads and writes of a step other than the head.
type Store interface {
	checkpoint.Store
	Put(ctx context.Context, key core.ThreadKey, record store.Record) error
}

// Agents resolves agents; *pins.Pins implements it.
type Agents interface {
	// Resolve returns the agent that a run is pinned to by its hash, and today's
	// for an empty pin. After pins.ErrStore and an error with code schema (a newer
	// program's content) another attempt may succeed; any other ends the run.
	Resolve(ctx context.Context, id, pin string) (*registry.Resolved, error)
}

// Children starts child runs for tools: see [tool.Call.Children].
type Children interface {
	// StartChild enqueues a child run, after list has listed its id in the head of the call's
	// thread: what ends the call's run ends the child, too. An error of list is its own.
	StartChild(ctx context.Context, call tool.Call, child tool.Child, list func(context.Context, core.ID) error) (run core.ID, err error)
}

// Others reads, cancels and notifies runs of other threads for tools: see [tool.Call.Others].
type Others interface {
	ChildRun(ctx context.Context, call tool.Call, run core.ID) (core.Run, error)
	CancelRun(ctx context.Context, call tool.Call, run core.ID) (cancelled int, err error)
	SendMessage(ctx context.Context, call tool.Call, m tool.Message) (core.ID, error)
	FailedMessages(ctx context.Context, call tool.Call) ([]tool.FailedMessage, error)
	RecoverMessages(ctx context.Context, call tool.Call, again bool) (messages int, err error)
}

// Options configures a Stepper. Env, Store, Committer and Agents are required.
type Options struct {
	Env       *env.Env
	Store     Store
	Committer Committer
	Agents    Agents
	Records   thread.Records     // the schemas that the program reads and writes
	Stops     []agent.StopPolicy // of every run, after those of its agent
	Logger    *slog.Logger       // nil: slog.Default
	Observer  Observer           // nil: no metrics
	Lease     time.Duration      // renewed past two thirds; 0: 30 s
	Poll      time.Duration      // interval between looks for a cancel; capped at Lease/6; 0: 2 s
	// Window is the maximum size of the window, in tokens, for every agent and
	// model; 0: they decide.
	Window    int
	CacheSize int // bytes of conversations that are kept in memory; 0: 64 MiB
	Snapshot  int // turns of a thread until its state is stored again, in addition to a run's start; 0: 16
	// Chunks keeps the words of models until their commit, for readers of this
	// process ([Stepper.Hear]) and, when they ask for it, of others: see
	// agent.EventMode.
	Chunks bool
	// Said is called when there is something new for [Stepper.Hear], in the step's
	// goroutine: it must not block. nil: no reader waits for that.
	Said func(core.ThreadKey)
	// Profiles returns the values outside of threads for hooks and tools of a tenant's
	// runs; nil: none.
	Profiles func(tenant string) state.Profiles
	// LeaveFor is how long a run waits for another build that has a part of its
	// agent that this one lacks, or the agent itself; 0: 10 minutes, negative: not
	// at all, for a process that is the only one of its store.
	LeaveFor time.Duration
	// Children starts the runs that tools ask for; nil: tools start none.
	Children Children
	// Others gives tools access to runs of other threads; nil: they have none.
	Others Others
	// Metering records what runs use; nil: nothing does. The mailbox must meter as well.
	Metering *accounting.Metering
	// Choices decides what the records do not; nil: the runs happen now. See [Choices].
	Choices Choices
	// Compact is called after the commit of a turn that asks for a summary of the
	// thread, and must have [compaction.Maker.Compact] called, of Summaries. nil:
	// each step makes its summaries itself.
	Compact func(context.Context, core.ThreadKey)
	// Failed is called for each run that this process ends with an error, with the
	// error, which may quote anything and must not reach a client. nil: no call.
	Failed func(run core.ID, cause error)
	// Accept checks each answer that has the form which the run requires: an error
	// is sent back to the model like an error of the form, and ends the run like
	// one. The text of the error is stored, for all who may read the thread. It
	// returns immediately, and returns the same for the same answer. nil: every
	// answer of the form is right.
	Accept func(run core.ID, step int, answer string) error
	// Limits holds the runs of a tenant to its limits; nil: nothing is limited.
	Limits *accounting.Gate
}

// Stepper takes claimed runs a step further. It is safe for concurrent use.
type Stepper struct {
	env       *env.Env
	store     Store
	committer Committer
	agents    Agents
	records   thread.Records
	stops     []agent.StopPolicy
	log       *slog.Logger
	observer  Observer
	lease     time.Duration
	poll      time.Duration
	most      int // Options.Window
	reader    *checkpoint.Reader
	summaries *compaction.Maker
	under     under
	profiles  func(tenant string) state.Profiles
	newest    atomic.Pointer[tenantProfiles] // of the newest step
	children  Children
	others    Others
	choices   Choices
	books     accounting.Books
	live      live.Source // of what models say before it is committed
	prompts   sent.Memory // of the agents' requests
	leaveFor  time.Duration
	failed    func(core.ID, error)                  // Options.Failed
	accept    func(core.ID, int, string) error      // Options.Accept
	circuits  inference.Circuits                    // of the models that this process calls
	windows   inference.Windows                     // of those models, as refusals tell
	hint      func(context.Context, core.ThreadKey) // Options.Compact

	snapshotEvery int
	abandoned     atomic.Int64 // tools that were abandoned and still run
	failedEffects atomic.Int64 // since the Stepper was made
}

// New returns a Stepper.
func New(o Options) (*Stepper, error) {
	if o.Env == nil || o.Store == nil || o.Committer == nil || o.Agents == nil {
		return nil, core.Errorf(core.CodeInvalid, "run: Env, Store, Committer and Agents are required")
	}
	if err := stop.CheckAll("Options.Stops", o.Stops); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	s := &Stepper{
		env: o.Env, store: o.Store, committer: o.Committer, agents: o.Agents, records: o.Records, stops: o.Stops,
		log: o.Logger, observer: o.Observer, lease: o.Lease, poll: o.Poll, most: o.Window, profiles: o.Profiles, children: o.Children, others: o.Others, choices: o.Choices,
		books: accounting.Books{Gate: o.Limits, Metering: o.Metering, Records: o.Records, Store: o.Store},
		live:  live.Source{Env: o.Env, Store: o.Store, Records: o.Records, Keep: o.Chunks, Said: o.Said}, leaveFor: o.LeaveFor, failed: o.Failed, accept: o.Accept, hint: o.Compact,
	}
	if s.leaveFor == 0 {
		s.leaveFor = leaveFor
	}
	if s.choices == nil {
		s.choices = present{o.Env}
	}
	s.circuits.Env, s.circuits.Off = o.Env, !s.choices.Acts()
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.lease == 0 {
		s.lease = 30 * time.Second
	}
	if s.poll == 0 {
		s.poll = 2 * time.Second
	}
	s.poll = min(s.poll, s.lease/6) // with a third of the lease left there are two looks to renew it
	if s.snapshotEvery = o.Snapshot; s.snapshotEvery == 0 {
		s.snapshotEvery = defaultSnapshot
	}
	s.reader = checkpoint.New(checkpoint.Options{
		Env: o.Env, Store: o.Store, Records: o.Records, Log: s.log, Window: window.Newest(o.Window), CacheSize: o.CacheSize,
	})
	s.summaries = compaction.New(compaction.Options{
		Env: o.Env, Store: o.Store, Records: o.Records, Heads: o.Committer, Agents: o.Agents,
		Reader: s.reader, Circuits: &s.circuits, Books: &s.books, Log: s.log,
	})
	return s, nil
}

// tenantProfiles are the values outside of threads of a tenant.
type tenantProfiles struct {
	tenant   string
	profiles state.Profiles
}

// profilesOf returns the values outside of threads for a tenant's runs; nil: there are none.
func (s *Stepper) profilesOf(tenant string) state.Profiles {
	if s.profiles == nil {
		return nil
	}
	newest := s.newest.Load()
	if newest == nil || newest.tenant != tenant {
		newest = &tenantProfiles{tenant, s.profiles(tenant)}
		s.newest.Store(newest)
	}
	return newest.profiles
}

// Summaries returns what makes the summaries of threads, which [Options.Compact] asks for.
func (s *Stepper) Summaries() *compaction.Maker { return s.summaries }

// Reader returns what reads threads for the steps, with the cache of this process: for
// readers of a thread's state.
func (s *Stepper) Reader() *checkpoint.Reader { return s.reader }

// Abandoned is how many tools were abandoned, because they did not end when their
// context did, and still run. The owner of the process decides how many are too
// many.
func (s *Stepper) Abandoned() int { return int(s.abandoned.Load()) }

// EffectFailures is how many effects have failed in this process, in all runs:
// their handler returned an error or panicked. Their commits remain, and each has
// its line in the log.
func (s *Stepper) EffectFailures() int64 { return s.failedEffects.Load() }

// Work is the right to take one step.
type Work struct {
	Key  core.ThreadKey
	Head thread.Head // after the write that took the claim, or the last Stepped's
	// Input is what the run starts with, if the caller has just stored it, with the claim, and
	// its record has the very same value; nil: the step reads it.
	Input *thread.Queued
	// Keep asks to hold the claim over the commit, for a caller that steps in a
	// loop; the outcome is then Continue instead of Yield.
	Keep bool
	// Whole means that the step has a whole invocation to itself: when even that
	// brings neither a commit nor a result, the run ends with an error instead of
	// being tried again.
	Whole bool
	// Proved is called, by the step's goroutine, when the step has committed a
	// turn, and each time that it has stored a result which a tool gave under this
	// claim: the code that ran has not taken the process down. A result that was
	// adopted, or that no tool gave, proves nothing. nil: no call.
	Proved func()
	// Followed is the time until which a reader in another process is known to
	// follow the run, unix milliseconds; 0: no such reader.
	Followed int64
}

// Stepped is how a step ended.
type Stepped struct {
	Outcome thread.Outcome // Continue, Yield, Wait or Done
	Head    thread.Head    // after the commit; the next Work's of a Continue
	Retry   bool           // the claim was released: the step will be tried again
	// Missed means that a write without a response has stored records whose events were not
	// emitted, nor were those after them: a listener reads them from the log.
	Missed bool
	// Followed is the next Work's of a Continue.
	Followed int64
}

// defaultSnapshot is how many turns of a thread go by between two stored
// snapshots of its state.
const defaultSnapshot = 16

// leaveFor is Options.LeaveFor by default.
const leaveFor = 10 * time.Minute

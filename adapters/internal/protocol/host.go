package protocol

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Starter starts runs.
type Starter interface {
	HasAgent(id string) bool
	// Submit returns when the run is durably queued.
	Submit(context.Context, mailbox.Submission) (mailbox.Receipt, error)
	// Stream returns when the run's stream has ended, with run_finish or
	// run_yield. An error before the first event means that the submission was
	// refused. A context that is cancelled, because the client went away, must
	// not end the run. The listener is never called concurrently.
	Stream(context.Context, mailbox.Submission, host.Listener) (mailbox.Receipt, error)
}

// Reader reads threads and runs and follows runs.
type Reader interface {
	Thread(ctx context.Context, id core.Identity, thread string) (host.Thread, error)
	Messages(ctx context.Context, id core.Identity, thread string, q host.MessageQuery) (host.MessagePage, error)
	// ReadRun reads a run, with the tickets that it waits for.
	ReadRun(ctx context.Context, id core.Identity, run core.ID) (core.Run, error)
	// Approvals lists the calls that wait for a decision in the threads that the caller
	// may read.
	Approvals(ctx context.Context, id core.Identity, q host.ApprovalQuery) (host.Page[host.Approval], error)
	// Follow emits a run's events from its first until run_finish.
	Follow(ctx context.Context, id core.Identity, run core.ID, listener host.Listener) error
}

// Canceller cancels runs.
type Canceller interface {
	CancelRun(ctx context.Context, id core.Identity, run core.ID) error
	// CancelThread is CancelRun for the thread's open run, whose id it returns.
	CancelThread(ctx context.Context, id core.Identity, thread string) (core.ID, error)
}

// Decider takes decisions on suspended calls.
type Decider interface {
	Decide(ctx context.Context, id core.Identity, run core.ID, d mailbox.Deciding) (mailbox.Decided, error)
	// DecideThread is Decide for the thread's open run.
	DecideThread(ctx context.Context, id core.Identity, thread string, d mailbox.Deciding) (mailbox.Decided, error)
	// StreamDecisions takes decisions in order and emits what comes after them,
	// until the run is done or waits again. It returns those that were accepted; an
	// error before the first event is that of the one behind them. It treats the
	// context and the listener as Starter.Stream does.
	StreamDecisions(ctx context.Context, id core.Identity, thread string, all []mailbox.Deciding, listener host.Listener) ([]mailbox.Decided, error)
	// StreamAnswered takes decisions and then what was said beside them, for the run that
	// they let go on, and streams as Starter.Stream does.
	StreamAnswered(ctx context.Context, id core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener host.Listener) (mailbox.Receipt, error)
}

// Retaker goes on from an earlier place of a thread.
type Retaker interface {
	// TakeUp goes on with a run that ended with an error, and returns when the run that
	// does so is durably queued.
	TakeUp(ctx context.Context, id core.Identity, run core.ID) (mailbox.Receipt, error)
	// Fork makes the thread to of another, up to the message at.
	Fork(ctx context.Context, id core.Identity, thread, at, to string) (mailbox.Forked, error)
}

// Controller does with threads and runs what a person does beside talking.
type Controller interface {
	// ActiveRun reads the thread's open run; ok is false when there is none.
	ActiveRun(ctx context.Context, id core.Identity, thread string) (active core.Run, ok bool, err error)
	// InterruptThread ends all that is open or queued. The key makes it idempotent.
	InterruptThread(ctx context.Context, id core.Identity, thread, key string) (mailbox.Receipt, error)
	// RetryRun submits the input of a dead-lettered run again.
	RetryRun(ctx context.Context, id core.Identity, run core.ID) (mailbox.Receipt, error)
	DeleteThread(ctx context.Context, id core.Identity, thread string, children mailbox.Children) error
}

// Lister lists threads and runs, and makes and describes threads.
type Lister interface {
	Threads(ctx context.Context, id core.Identity, q host.ThreadQuery) (host.Page[host.Thread], error)
	// CreateThread makes a thread that nothing was said on yet.
	CreateThread(ctx context.Context, id core.Identity, m host.NewThread) (host.Thread, error)
	// UpdateThread changes what is said of a thread.
	UpdateThread(ctx context.Context, id core.Identity, thread string, c host.ThreadChange) (host.Thread, error)
	Runs(ctx context.Context, id core.Identity, q host.RunQuery) (host.Page[core.Run], error)
}

// Viewer shows what a thread's log and the program tell.
type Viewer interface {
	// State reads the state of a thread, at a revision or, for nil, as it stands.
	State(ctx context.Context, id core.Identity, thread string, revision *uint64) (host.StateView, error)
	StatePatches(ctx context.Context, id core.Identity, thread string, q host.StateQuery) (host.Page[host.StateChange], error)
	Steps(ctx context.Context, id core.Identity, run core.ID, q host.StepQuery) (host.StepPage, error)
	// Committed reads the events of a run that have a place.
	Committed(ctx context.Context, id core.Identity, run core.ID, q host.EventQuery) (host.Page[core.Event], error)
}

// Accountant says what tenants may use and have used.
type Accountant interface {
	Limits(ctx context.Context, tenant string) (host.LimitsOf, error)
	// Report returns what a tenant has used; the error has code not_found if usage is not
	// recorded.
	Report(ctx context.Context, q account.Query) ([]account.Row, error)
}

// Catalog says what the program is made of.
type Catalog interface {
	Agents() []host.AgentInfo
	Agent(id string) (host.AgentInfo, error)
	Capabilities() host.Capabilities
	// DefaultAgent returns the id of the agent for requests that name none; empty: they are
	// refused.
	DefaultAgent() string
	// Exposed returns the agents, and the tools by themselves, that clients may call as tools.
	Exposed() []agent.Exposed
}

// Process is the process that a host runs in.
type Process interface {
	// Env is the clock, the ids and the goroutines of the process.
	Env() *env.Env
	// Healthy returns why the process should be replaced; nil: it should not be. Clients
	// read its text.
	Healthy() error
	// Ready returns why no request can be served for now, such as a store that cannot be
	// reached; nil: requests are served. No client reads its text.
	Ready(context.Context) error
}

// Inbox shows what is open, queued and over on a thread, and changes what no step has
// read.
type Inbox interface {
	Mailbox(ctx context.Context, id core.Identity, thread string, q mailbox.ListQuery) (mailbox.ListPage, error)
	// SubmitTo submits input for a run, whose thread, agent and user are filled in.
	SubmitTo(ctx context.Context, id core.Identity, run core.ID, s mailbox.Submission) (mailbox.Receipt, error)
	// EditInput and RetractInput name input by the dispatch of its receipt.
	EditInput(ctx context.Context, id core.Identity, thread string, input core.ID, messages []core.Message) error
	RetractInput(ctx context.Context, id core.Identity, thread string, input core.ID) error
	// RunOfKey returns the run that reads, or has read, what was submitted to a thread
	// under a key; ok is false when nothing was.
	RunOfKey(ctx context.Context, id core.Identity, thread, key string) (run core.ID, ok bool, err error)
}

// Host is what the protocols serve; *host.Host is one.
type Host interface {
	Starter
	Reader
	Canceller
	Decider
	Retaker
	Controller
	Inbox
	Lister
	Viewer
	Accountant
	Catalog
	Process
}

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

// Decider accepts decisions on suspended calls.
type Decider interface {
	Decide(ctx context.Context, id core.Identity, run core.ID, d mailbox.Deciding) (mailbox.Decided, error)
	// DecideThread is Decide for the thread's open run.
	DecideThread(ctx context.Context, id core.Identity, thread string, d mailbox.Deciding) (mailbox.Decided, error)
	// StreamDecisions accepts decisions in order and emits the events that follow, until
	// the run is done or waits again. It returns the accepted decisions. An error before
	// the first event is that of the first decision that was refused. It handles the
	// context and the listener as Starter.Stream does.
	StreamDecisions(ctx context.Context, id core.Identity, thread string, all []mailbox.Deciding, listener host.Listener) ([]mailbox.Decided, error)
	// StreamAnswered accepts decisions, then submits the messages that were sent with
	// them to the run that the decisions resume. It streams as Starter.Stream does.
	StreamAnswered(ctx context.Context, id core.Identity, all []mailbox.Deciding, s mailbox.Submission, listener host.Listener) (mailbox.Receipt, error)
}

// Retaker continues from an earlier place of a thread.
type Retaker interface {
	// TakeUp continues a run that ended with an error, and returns when the new run is
	// durably queued.
	TakeUp(ctx context.Context, id core.Identity, run core.ID) (mailbox.Receipt, error)
	// Fork makes the thread to, a copy of another thread up to the message at.
	Fork(ctx context.Context, id core.Identity, thread, at, to string) (mailbox.Forked, error)
}

// Controller has the other actions of a client on threads and runs.
type Controller interface {
	// ActiveRun reads the thread's open run; ok is false if there is no open run.
	ActiveRun(ctx context.Context, id core.Identity, thread string) (active core.Run, ok bool, err error)
	// InterruptThread ends all open and queued runs. The key makes it idempotent.
	InterruptThread(ctx context.Context, id core.Identity, thread, key string) (mailbox.Receipt, error)
	// RetryRun submits the input of a dead-lettered run again.
	RetryRun(ctx context.Context, id core.Identity, run core.ID) (mailbox.Receipt, error)
	DeleteThread(ctx context.Context, id core.Identity, thread string, children mailbox.Children) error
}

// Lister lists threads and runs, and creates and updates threads.
type Lister interface {
	Threads(ctx context.Context, id core.Identity, q host.ThreadQuery) (host.Page[host.Thread], error)
	// CreateThread creates a thread without messages.
	CreateThread(ctx context.Context, id core.Identity, m host.NewThread) (host.Thread, error)
	// UpdateThread changes the description of a thread.
	UpdateThread(ctx context.Context, id core.Identity, thread string, c host.ThreadChange) (host.Thread, error)
	Runs(ctx context.Context, id core.Identity, q host.RunQuery) (host.Page[core.Run], error)
	// DescribeRun is ReadRun with the start of the run's input and the title of its thread.
	DescribeRun(ctx context.Context, id core.Identity, run core.ID) (core.Run, error)
}

// Viewer shows the contents of a thread's log.
type Viewer interface {
	// State reads the state of a thread at a revision; for nil, its current state.
	State(ctx context.Context, id core.Identity, thread string, revision *uint64) (host.StateView, error)
	StatePatches(ctx context.Context, id core.Identity, thread string, q host.StateQuery) (host.Page[host.StateChange], error)
	Steps(ctx context.Context, id core.Identity, run core.ID, q host.StepQuery) (host.StepPage, error)
	// Request makes the request of a step again, as its model received it. trusted callers
	// may read those of threads without an owner.
	Request(ctx context.Context, id core.Identity, run core.ID, step int, trusted bool) (*host.SentRequest, error)
	// Committed reads the events of a run that have a position.
	Committed(ctx context.Context, id core.Identity, run core.ID, q host.EventQuery) (host.Page[core.Event], error)
}

// Accountant reports the limits and the usage of tenants.
type Accountant interface {
	Limits(ctx context.Context, tenant string) (host.LimitsOf, error)
	// Report returns the usage of a tenant; the error has code not_found if usage is not
	// recorded.
	Report(ctx context.Context, q account.Query) ([]account.Row, error)
	// ReportHours returns the usage of a tenant by hours; errors as for Report.
	ReportHours(ctx context.Context, q account.HourQuery) ([]account.Hour, error)
}

// Catalog describes the agents, models and tools of the program.
type Catalog interface {
	Agents() []host.AgentInfo
	Agent(id string) (host.AgentInfo, error)
	Capabilities() host.Capabilities
	// DefaultAgent returns the id of the agent for requests that name no agent. If it is
	// empty, such requests are refused.
	DefaultAgent() string
	// Exposed returns the agents and single tools that clients may call as tools.
	Exposed() []agent.Exposed
}

// Process is the process that a host runs in.
type Process interface {
	// Env has the clock, the ids and the goroutines of the process.
	Env() *env.Env
	// Healthy returns the reason why the process should be replaced; nil: it should not
	// be replaced. Clients read its text.
	Healthy() error
	// Ready returns the reason why requests cannot be served now, such as a store that
	// cannot be reached; nil: requests are served. Clients never read its text.
	Ready(context.Context) error
}

// Inbox shows what is open, queued and finished on a thread, and changes input that no
// step has read yet.
type Inbox interface {
	Mailbox(ctx context.Context, id core.Identity, thread string, q mailbox.ListQuery) (mailbox.ListPage, error)
	// SubmitTo submits input to a run, and fills in its thread, agent and user.
	SubmitTo(ctx context.Context, id core.Identity, run core.ID, s mailbox.Submission) (mailbox.Receipt, error)
	// EditInput and RetractInput name input by the dispatch of its receipt.
	EditInput(ctx context.Context, id core.Identity, thread string, input core.ID, messages []core.Message) error
	RetractInput(ctx context.Context, id core.Identity, thread string, input core.ID) error
	// RunOfKey returns the run that reads, or has read, the submission to a thread under
	// a key; ok is false if there was no such submission.
	RunOfKey(ctx context.Context, id core.Identity, thread, key string) (run core.ID, ok bool, err error)
}

// Host is the interface that the protocols serve; *host.Host implements it.
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

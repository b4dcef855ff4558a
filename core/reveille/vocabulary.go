package reveille

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// What runs and threads consist of. Their fields and methods are documented at the types.
type (
	// Identity is on whose behalf something is done: a tenant and one of its users.
	Identity = core.Identity
	// ID names a run, or another thing that the runtime makes.
	ID = core.ID
	// Run is a run as it stands: its agent, status, steps and usage.
	Run = core.Run
	// Thread is a conversation as it stands.
	Thread = host.Thread
	// ThreadQuery selects threads, see [Runtime.Threads].
	ThreadQuery = host.ThreadQuery
	// Approval is a call that waits for a decision, with its thread and run.
	Approval = host.Approval
	// Message is a message of a thread.
	Message = core.Message
	// ToolCall is a model's request to run a tool.
	ToolCall = core.ToolCall
	// Event is an item of a run's stream; its Type says which fields it has.
	Event = core.Event
	// Usage is what model calls used.
	Usage = core.Usage
	// Termination is how a run ended.
	Termination = core.Termination
	// RunError is the error of a run that failed, or of an [Answer] that a run did not give.
	RunError = host.RunError
)

// ParseID returns the ID that a text names: a UUID in lower case.
func ParseID(text string) (ID, error) { return core.ParseID(text) }

// CodeOf returns what kind of error err is, whichever package made it; internal if it has no
// code. Codes are stable, texts of errors are not.
func CodeOf(err error) core.Code { return core.CodeOf(err) }

// The codes of errors that programs often expect; package core has the others.
const (
	CodeNotFound = core.CodeNotFound // it does not exist, or belongs to another user
	CodeBusy     = core.CodeBusy     // the thread has a run, and the input's mode is reject
)

// How a run ended, or that it waits: the Type of a [Termination].
const (
	TerminationNatural   = core.TerminationNatural   // with its model's answer
	TerminationStopped   = core.TerminationStopped   // by a stop policy
	TerminationBlocked   = core.TerminationBlocked   // by a gate
	TerminationCancelled = core.TerminationCancelled // by Cancel
	TerminationSuspended = core.TerminationSuspended // it has not: it waits for decisions
	TerminationError     = core.TerminationError     // it failed
)

// The types of events that programs often look at; package core has the others.
const (
	EventTextDelta         = core.EventTextDelta         // the next piece of what the model says
	EventToolCallReady     = core.EventToolCallReady     // a call with all its arguments
	EventToolCallDone      = core.EventToolCallDone      // the result of a call
	EventToolCallSuspended = core.EventToolCallSuspended // a call that waits, with its ticket
	EventRunFinish         = core.EventRunFinish         // the last event: the run is done, or waits
)

package reveille

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// Parts of runs and threads. Their types document their fields and methods.
type (
	// Identity is the owner of a request: a tenant and one of its users.
	Identity = core.Identity
	// ID names a run, or another object that the runtime makes.
	ID = core.ID
	// Run is the current state of a run: its agent, status, steps and usage.
	Run = core.Run
	// Thread is the current state of a conversation.
	Thread = host.Thread
	// ThreadQuery selects threads, see [Runtime.Threads].
	ThreadQuery = host.ThreadQuery
	// Approval is a call that waits for a decision, with its thread and run.
	Approval = host.Approval
	// Message is a message of a thread.
	Message = core.Message
	// ToolCall is a model's request to run a tool.
	ToolCall = core.ToolCall
	// Event is an item of a run's stream; its Type determines which fields it has.
	Event = core.Event
	// Usage counts the tokens that model calls used.
	Usage = core.Usage
	// Termination describes how a run ended.
	Termination = core.Termination
	// RunError is the error of a run that failed, or that ended without an [Answer].
	RunError = host.RunError
)

// ParseID parses an ID: a UUID in lower case.
func ParseID(text string) (ID, error) { return core.ParseID(text) }

// CodeOf returns the code of an error of any package; internal if it has no code. Codes are
// stable, texts of errors are not.
func CodeOf(err error) core.Code { return core.CodeOf(err) }

// The codes of errors that programs often expect; package core has the others.
const (
	CodeNotFound = core.CodeNotFound // it does not exist, or belongs to another user
	CodeBusy     = core.CodeBusy     // the thread has a run, and the input's mode is reject
)

// The outcomes of a run: the Type of a [Termination].
const (
	TerminationNatural   = core.TerminationNatural   // with its model's answer
	TerminationStopped   = core.TerminationStopped   // by a stop policy
	TerminationBlocked   = core.TerminationBlocked   // by a gate
	TerminationCancelled = core.TerminationCancelled // by Cancel
	TerminationSuspended = core.TerminationSuspended // it has not: it waits for decisions
	TerminationError     = core.TerminationError     // it failed
)

// The types of events that programs often read; package core has the others.
const (
	EventTextDelta         = core.EventTextDelta         // the next piece of the model's text
	EventToolCallReady     = core.EventToolCallReady     // a call with all its arguments
	EventToolCallDone      = core.EventToolCallDone      // the result of a call
	EventToolCallSuspended = core.EventToolCallSuspended // a call that waits, with its ticket
	EventRunFinish         = core.EventRunFinish         // the last event: the run is done, or waits
)

package host

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
)

// LocalTenant is the tenant of submissions without one. In memory it is also the
// tenant of an empty core.Identity.
const LocalTenant = "local"

// Result is the outcome of a run that has ended, or the state of one that waits.
type Result struct {
	// Text is the text of the run's last turn.
	Text string
	// Termination is how the run ended; the type of a run that waits is suspended.
	Termination core.Termination
	// Tickets are the calls that the run waits for, see [Host.Decide]; empty: it has
	// ended.
	Tickets []core.Ticket
	// Messages are those that the run has stored, oldest first: its input, turns and
	// results of tools.
	Messages []core.Message
	// Usage is that of all its steps.
	Usage core.Usage
	// State is the state of the thread and the run after the run. A key's Read reads it.
	State state.Snapshot
	// Thread is the id of the thread, which Next continues.
	Thread string
	// Run is the run's record: id, steps, times.
	Run core.Run

	identity core.Identity // of the caller
}

// Next returns the input that continues the result's thread, for [Host.Play] and
// [Host.EventsOf]: a text for the same agent, on behalf of the same user. Its other
// fields can be set before it is submitted.
func (r Result) Next(text string) mailbox.Submission {
	return mailbox.Submission{
		Thread: core.ThreadKey{Tenant: r.identity.Tenant, Thread: r.Thread}, User: r.identity.User,
		Opening: mailbox.Opening{AgentID: r.Run.AgentID}, Messages: []core.Message{core.UserMessage(text)},
	}
}

// RunError is the error of a run without the result that its caller asked for. [Host.Await]
// returns it for a run that failed, and reveille.Answer also for any other end without an
// answer. A run fails because of its model or provider, its time, a tool's [tool.Fatal]
// error, a plugin or stop policy, or an agent that can no longer be resolved. Its text is
// what clients may read. For the error of a plugin or provider it only tells where it
// occurred; the error itself, and the stack of a panic, are in the log.
type RunError struct {
	Agent       string
	Run         core.ID
	Termination core.Termination

	// Cause is the error that ended the run, of a hook, a tool or a provider, if this process
	// ended the run while the call waited; else nil. It may quote anything: it is for the
	// program, not for clients.
	Cause error
}

// Unwrap returns the Cause.
func (e *RunError) Unwrap() error { return e.Cause }

// As gives the error a code, see [core.CodeOf]: that of the termination for a run that failed,
// not_found for another that has no answer.
func (e *RunError) As(target any) bool {
	if coded, ok := target.(**core.Error); ok {
		code := core.CodeNotFound
		if e.Termination.Type == core.TerminationError {
			code = core.Code(e.Termination.Code)
		}
		*coded = &core.Error{Code: code, Message: e.Error()}
		return true
	}
	return false
}

// Error implements error. Its text has the agent, the termination's code and its detail, and
// the termination's type if the run has not failed.
func (e *RunError) Error() string {
	text := fmt.Sprintf("agent %q failed", e.Agent)
	if e.Termination.Type != core.TerminationError {
		text = fmt.Sprintf("agent %q has no answer: %s", e.Agent, e.Termination.Type)
	}
	for _, part := range []string{e.Termination.Code, e.Termination.Detail} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

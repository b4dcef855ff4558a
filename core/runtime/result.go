package runtime

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
)

// LocalTenant is the tenant of threads of callers that name none. In a runtime of [New]
// it is that of an empty core.Identity, too.
const LocalTenant = "local"

// Result is what a run came to, or how it stands while it waits.
type Result struct {
	Text        string           // of the run's last turn
	Termination core.Termination // how it ended; of a run that waits, the type is suspended
	Tickets     []core.Ticket    // what it waits for; empty when it has ended: see [Runtime.Resume]
	Messages    []core.Message   // what the run has stored: its input, turns and results of tools, oldest first
	Usage       core.Usage       // of all its steps
	State       state.Snapshot   // of the thread and the run as the run left it; a key's Read reads it
	Thread      string           // id of the thread; Next goes on with it
	Run         core.Run         // its record: id, steps, times

	identity core.Identity // on whose behalf the run is
}

// Next returns the input that goes on with the result's thread, for
// [Runtime.RunInput] and [Runtime.EventsOf]: a text for the same agent, on behalf of
// the same user. Its other fields can be set before it is submitted.
func (r Result) Next(text string) mailbox.Submission {
	return mailbox.Submission{
		Thread: core.ThreadKey{Tenant: r.identity.Tenant, Thread: r.Thread}, User: r.identity.User,
		Opening: mailbox.Opening{AgentID: r.Run.AgentID}, Messages: []core.Message{core.UserMessage("", text)},
	}
}

// RunError is the end of a run that failed: its model or provider, its time, a tool's
// [tool.Fatal] error, a plugin or stop policy, or an agent that can no longer be
// resolved. It says what clients may read, and of a plugin's or provider's error only
// where it was; the error itself, and a panic's stack, is in the log.
type RunError struct {
	Agent       string
	Run         core.ID
	Termination core.Termination // of the type error

	cause error // nil: it is not known here
}

// Unwrap returns the error that ended the run, where this process ended it while the call
// waited: a hook's, a tool's or a provider's own. Else nil. It may quote anything: it is
// for the program, and for no client to read.
func (e *RunError) Unwrap() error { return e.cause }

// As makes the code of the termination that of the error: see [core.CodeOf].
func (e *RunError) As(target any) bool {
	if coded, ok := target.(**core.Error); ok {
		*coded = &core.Error{Code: core.Code(e.Termination.Code), Message: e.Error()}
		return true
	}
	return false
}

// Error implements error. It says the agent, the termination's code and its detail.
func (e *RunError) Error() string {
	text := fmt.Sprintf("agent %q failed", e.Agent)
	for _, part := range []string{e.Termination.Code, e.Termination.Detail} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// Approve returns the decision that lets the ticket's call run.
func Approve(t core.Ticket) mailbox.Deciding { return Reply(t, nil) }

// Reply returns the decision that resumes the ticket's call with a payload: what a
// client's tool came to, or what the ticket asks for.
func Reply(t core.Ticket, payload json.RawMessage) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume, Payload: payload}}
}

// Deny returns the decision that refuses the ticket's call; the model reads the reason.
func Deny(t core.Ticket, reason string) mailbox.Deciding {
	return mailbox.Deciding{Target: t.Suspension.ID, Decision: core.Decision{Action: core.DecisionCancel, Reason: reason}}
}

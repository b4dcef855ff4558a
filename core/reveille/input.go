package reveille

import (
	"encoding/json"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Input is what is said to an agent: a Text, or Messages, or both, the text last.
type Input struct {
	Text     string
	Messages []Message

	// Agent is the agent's id; empty: the default one of the parts.
	Agent string
	// Thread is the id of the thread to continue, or of a new one; empty: a new thread with
	// an id of its own.
	Thread string
	// Mode says what the input does on a thread that has a run; empty: [ModeQueue].
	Mode Mode
	// Key makes the input idempotent: with the same key on the same thread it is accepted
	// once, and answered the same each time. Empty: it is new input each time.
	Key string
	// Delay is how long after now its run may start, up to 365 days; 0: now.
	Delay time.Duration
	// Priority orders queued runs of a thread, lower first; nil: 128.
	Priority *uint8
	// Request is JSON that hooks and tools read, such as settings of a client; at most
	// 16 KiB. nil: nothing.
	Request json.RawMessage
}

// Mode says what input does on a thread that has a run.
type Mode = mailbox.Mode

// The modes.
const (
	ModeQueue     = mailbox.ModeQueue     // it waits for the runs before it
	ModeInterrupt = mailbox.ModeInterrupt // it ends them, and runs next
	ModeSteer     = mailbox.ModeSteer     // the open run reads it at its next step
	ModeReject    = mailbox.ModeReject    // it is refused, with code busy
)

// Receipt says what became of submitted input.
type Receipt = mailbox.Receipt

// submission is the input on behalf of the runtime's identity.
func (r *Runtime) submission(in Input) mailbox.Submission {
	if in.Agent == "" {
		in.Agent = r.host.DefaultAgent()
	}
	if in.Thread == "" {
		in.Thread = env.System().NewID().String()
	}
	messages := in.Messages
	if in.Text != "" {
		messages = append(messages[:len(messages):len(messages)], core.UserMessage(in.Text))
	}
	return mailbox.Submission{
		Thread: core.ThreadKey{Tenant: r.identity.Tenant, Thread: in.Thread}, User: r.identity.User, Messages: messages,
		Mode: in.Mode, Key: mailbox.Key{Value: in.Key},
		Opening: mailbox.Opening{AgentID: in.Agent, Request: in.Request, Priority: in.Priority, Delay: in.Delay},
	}
}

// Result is what a run came to, or how it stands while it waits for a person.
type Result struct {
	// Text is that of the run's last turn.
	Text string
	// Termination is how the run ended; the type of a run that waits is
	// [TerminationSuspended].
	Termination Termination
	// Tickets are the calls that the run waits for, see [Runtime.Decide]; empty: it ended.
	Tickets []Ticket
	// Messages are those of the run, oldest first: its input, turns and results of tools.
	Messages []Message
	// Usage is that of all its steps.
	Usage Usage
	// State is that of thread and run after it; a key's Read reads it.
	State Snapshot
	// Run is the run itself: ids, steps, times.
	Run Run
}

// Next returns input that continues the result's thread with the same agent.
func (r Result) Next(text string) Input {
	return Input{Text: text, Thread: r.Run.ThreadID, Agent: r.Run.AgentID}
}

// resultOf is a host's result.
func resultOf(r host.Result) Result {
	return Result{Text: r.Text, Termination: r.Termination, Tickets: r.Tickets, Messages: r.Messages, Usage: r.Usage, State: r.State, Run: r.Run}
}

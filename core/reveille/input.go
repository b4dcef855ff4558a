package reveille

import (
	"encoding/json"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Input is a message to an agent: a Text, or Messages, or both with the text last.
type Input struct {
	Text     string
	Messages []Message

	// Agent is the agent's id; empty: the default agent of the parts.
	Agent string
	// Thread is the id of the thread to continue or create; empty: a new thread with a
	// generated id.
	Thread string
	// Mode decides how the input is handled on a thread that has a run; empty: [ModeQueue].
	Mode Mode
	// Key makes the input idempotent: the thread accepts input with the same key once, and
	// every repetition returns the first receipt. Empty: it is new input each time.
	Key string
	// Delay is the time from now until the run may start, up to 365 days; 0: now.
	Delay time.Duration
	// Priority orders queued runs of a thread, lower first; nil: 128.
	Priority *uint8
	// Request is JSON for hooks and tools, such as settings of a client; at most 16 KiB. nil:
	// nothing.
	Request json.RawMessage
}

// Mode decides how input is handled on a thread that has a run.
type Mode = mailbox.Mode

// The modes.
const (
	ModeQueue     = mailbox.ModeQueue     // waits for the runs before it
	ModeInterrupt = mailbox.ModeInterrupt // ends them, and runs next
	ModeSteer     = mailbox.ModeSteer     // the open run reads it at its next step
	ModeReject    = mailbox.ModeReject    // is refused, with code busy
)

// Receipt describes accepted input: its run, and whether the input is a duplicate.
type Receipt = mailbox.Receipt

// submission returns the input as a submission of the runtime's identity.
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

// Result is the outcome of a run, or its state while it waits for a person.
type Result struct {
	// Text is the text of the run's last turn.
	Text string
	// Termination describes how the run ended; for a run that waits its type is
	// [TerminationSuspended].
	Termination Termination
	// Tickets are the calls that the run waits for, see [Runtime.Decide]; empty: the run ended.
	Tickets []Ticket
	// Messages are the messages of the run, oldest first: its input, turns and tool results.
	Messages []Message
	// Usage is the usage of all its steps.
	Usage Usage
	// State is the state of thread and run afterwards; a key's Read method reads it.
	State Snapshot
	// Run has the ids, steps and times of the run.
	Run Run
}

// Next returns input that continues the result's thread with the same agent.
func (r Result) Next(text string) Input {
	return Input{Text: text, Thread: r.Run.ThreadID, Agent: r.Run.AgentID}
}

// resultOf converts the result of a host.
func resultOf(r host.Result) Result {
	return Result{Text: r.Text, Termination: r.Termination, Tickets: r.Tickets, Messages: r.Messages, Usage: r.Usage, State: r.State, Run: r.Run}
}

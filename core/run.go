package core

// RunStatus is where a run is in its life.
type RunStatus string

// The run statuses: created (queued, no step yet), running, waiting (for a
// decision or input; nothing runs), done.
const (
	RunCreated RunStatus = "created"
	RunRunning RunStatus = "running"
	RunWaiting RunStatus = "waiting"
	RunDone    RunStatus = "done"
)

// TerminationType says how a run, or one stream of it, ended.
type TerminationType string

// The terminations. Suspended ends a stream, not the run.
const (
	TerminationNatural    TerminationType = "natural_end"
	TerminationBehavior   TerminationType = "behavior_requested"
	TerminationStopped    TerminationType = "stopped" // by a stop policy; Code names it
	TerminationCancelled  TerminationType = "cancelled"
	TerminationBlocked    TerminationType = "blocked"
	TerminationSuspended  TerminationType = "suspended"
	TerminationSuperseded TerminationType = "superseded" // by an interrupt
	TerminationError      TerminationType = "error"
)

// Termination is the reason in a run_finish event and in a done run.
type Termination struct {
	Type   TerminationType `json:"type"`
	Code   string          `json:"code,omitempty"`   // stop policy ("max_rounds") or error ("timeout", "dead_letter", "model", "resolution")
	Detail string          `json:"detail,omitempty"` // for people
}

// Origin says whose input opened a run.
type Origin string

// The origins. What is internal waits its turn behind the runs that a thread has:
// it never stands for a person's reply to one that waits.
const (
	OriginUser     Origin = ""         // a person, or a program that speaks for one
	OriginInternal Origin = "internal" // the deployment itself, such as a trigger
)

// Check validates an origin that came from outside.
func (o Origin) Check() error {
	switch o {
	case OriginUser, OriginInternal:
		return nil
	}
	return Errorf(CodeInvalid, "origin %q is unknown, allowed are none (a user) and internal", Excerpt(string(o)))
}

// Run is the record of one execution of an agent over a thread, as readers get it.
// What can race about an open run stands in the head, as a thread.Run.
type Run struct {
	ID          ID           `json:"run_id"`
	ThreadID    string       `json:"thread_id"`
	AgentID     string       `json:"agent_id"`
	Origin      Origin       `json:"origin,omitempty"`
	Status      RunStatus    `json:"status"`
	Steps       int          `json:"steps"`
	Usage       Usage        `json:"usage,omitzero"`
	Response    string       `json:"response,omitempty"` // text of the last assistant turn, once done
	Termination *Termination `json:"termination,omitempty"`
	Dispatch    ID           `json:"dispatch_id,omitzero"`
	Resolution  string       `json:"resolution,omitempty"` // content hash of the agent that the run is pinned to
	FirstSeq    uint64       `json:"first_seq,omitempty"`  // sequence of its first log record
	CreatedAt   int64        `json:"created_at"`           // unix milliseconds
	StartedAt   int64        `json:"started_at,omitempty"`
	FinishedAt  int64        `json:"finished_at,omitempty"`
	Tickets     []Ticket     `json:"tickets,omitempty"` // what it waits for, in what readers are given; never stored
}

// DispatchStatus is the state of a delivery, apart from what the run came to.
type DispatchStatus string

// The dispatch statuses; the last four are final.
const (
	DispatchQueued     DispatchStatus = "queued"
	DispatchClaimed    DispatchStatus = "claimed"
	DispatchAcked      DispatchStatus = "acked"
	DispatchCancelled  DispatchStatus = "cancelled"
	DispatchSuperseded DispatchStatus = "superseded"
	DispatchDeadLetter DispatchStatus = "dead_letter"
)

// DispatchKind says what a dispatch brings.
type DispatchKind string

// The kinds: a run of its own, or input for the inbox of one.
const (
	DispatchRun   DispatchKind = "run"
	DispatchInput DispatchKind = "input"
)

// Dispatch is a delivery as readers get it: of a run, or of input for an open one.
// Its status is the queue's; what the run came to is RunStatus and Termination.
type Dispatch struct {
	ID        ID             `json:"dispatch_id"`
	RunID     ID             `json:"run_id"` // that it opens; of input: the run that is to read it, or has
	Kind      DispatchKind   `json:"kind"`
	Status    DispatchStatus `json:"status"`
	RunStatus RunStatus      `json:"run_status,omitempty"` // of a run
	AgentID   string         `json:"agent_id,omitempty"`
	// Priority is a queued run's; it counts only until the run opens.
	Priority    *uint8 `json:"priority,omitempty"`
	AvailableAt int64  `json:"available_at,omitempty"` // unix milliseconds; 0: at once
	// Of the open run: claims without progress so far, how many there may be, and who
	// holds the one that stands until when, unix milliseconds.
	Attempts    int    `json:"attempts,omitempty"`
	MaxAttempts int    `json:"max_attempts,omitempty"`
	ClaimedBy   string `json:"claimed_by,omitempty"`
	LeaseUntil  int64  `json:"lease_until,omitempty"`

	Messages    []Message    `json:"messages,omitempty"` // that no step has read; they can be edited
	Tickets     []Ticket     `json:"tickets,omitempty"`  // what the open run waits for
	Termination *Termination `json:"termination,omitempty"`
	CreatedAt   int64        `json:"created_at"`             // unix milliseconds
	CompletedAt int64        `json:"completed_at,omitempty"` // of a run that a step has opened
}

// Phase is a named point in a step at which hooks run.
type Phase string

// The phases in the order in which a run passes them; BeforeToolExecute and
// AfterToolExecute happen once per tool call.
const (
	PhaseRunStart          Phase = "run_start"
	PhaseStepStart         Phase = "step_start"
	PhaseBeforeInference   Phase = "before_inference"
	PhaseAfterInference    Phase = "after_inference"
	PhaseBeforeToolExecute Phase = "before_tool_execute"
	PhaseAfterToolExecute  Phase = "after_tool_execute"
	PhaseStepEnd           Phase = "step_end"
	PhaseRunEnd            Phase = "run_end"
)

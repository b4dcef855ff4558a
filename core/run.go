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

// TerminationType is how a run, or one stream of it, ended.
type TerminationType string

// The terminations. Suspended ends a stream but not its run.
const (
	TerminationNatural    TerminationType = "natural_end"        // The model answered and called no further tool.
	TerminationBehavior   TerminationType = "behavior_requested" // A stop policy of the program ended the run with this type.
	TerminationStopped    TerminationType = "stopped"            // A stop policy ended the run. The code names the policy.
	TerminationCancelled  TerminationType = "cancelled"          // A client cancelled the run.
	TerminationBlocked    TerminationType = "blocked"            // A gate of a plugin blocked a call and ended the run.
	TerminationSuspended  TerminationType = "suspended"          // The run waits for a decision. Its stream ends, and the run can continue.
	TerminationSuperseded TerminationType = "superseded"         // An interrupt replaced the run.
	TerminationError      TerminationType = "error"              // The run failed. The code names the reason.
)

// Termination is the reason in a run_finish event and in a done run.
type Termination struct {
	Type   TerminationType `json:"type"`
	Code   string          `json:"code,omitempty"`   // stop policy ("max_rounds") or error ("timeout", "dead_letter", "model", "resolution")
	Detail string          `json:"detail,omitempty"` // for people
}

// Origin says whose input opened a run.
type Origin string

// The origins. Internal input waits its turn after the runs that a thread has: it never
// counts as a person's reply to a run that waits.
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
	return Errorf(CodeInvalid, "unknown origin %q, allowed are an empty one (a user) and internal", Excerpt(string(o)))
}

// Run is the record of one execution of an agent over a thread, as clients read it. The
// fields of an open run for which writers race are in the head, as a thread.Run.
type Run struct {
	ID          ID           `json:"run_id"`
	ThreadID    string       `json:"thread_id"`
	AgentID     string       `json:"agent_id"`
	Origin      Origin       `json:"origin,omitempty"`
	Status      RunStatus    `json:"status"`
	Steps       int          `json:"steps"`
	Usage       Usage        `json:"usage,omitzero"`
	Response    string       `json:"response,omitempty"` // text of the last response, once the run is done
	Termination *Termination `json:"termination,omitempty"`
	Dispatch    ID           `json:"dispatch_id,omitzero"`
	Resolution  string       `json:"resolution,omitempty"` // content hash of the agent that the run is pinned to
	FirstSeq    uint64       `json:"first_seq,omitempty"`  // sequence of its first log record
	CreatedAt   int64        `json:"created_at"`           // Unix milliseconds
	StartedAt   int64        `json:"started_at,omitempty"` // when a worker first claimed it
	FinishedAt  int64        `json:"finished_at,omitempty"`
	WaitedMS    int64        `json:"waited_ms,omitempty"` // time of its waits that are over, for people and clients, while nothing of it ran
	Takeovers   int          `json:"takeovers,omitempty"` // lost claims, after each of which another worker took the run over
	Calls       int          `json:"calls,omitempty"`     // tool calls

	// The fields below are set for clients and never stored.

	// WorkedMS is the rest of its time: from its start to its end, or to a wait. It is absent
	// while the run works.
	WorkedMS    int64      `json:"worked_ms,omitempty"`
	Asked       string     `json:"asked,omitempty"`        // start of the run's input, at most 200 bytes
	ThreadTitle string     `json:"thread_title,omitempty"` // title of its thread
	StartedBy   *RunParent `json:"parent,omitempty"`       // the run of another thread that started it
	// Cost is the price of Usage. It is null if the price of a model is unknown, and absent
	// where usage is not recorded.
	Cost    *Cost    `json:"cost_usd,omitempty"`
	Tickets []Ticket `json:"tickets,omitempty"` // the calls that wait
	// Children is what the runs that it has started ask, directly or through others. Only reads of
	// one run have it.
	Children *RunChildren `json:"children,omitempty"`
}

// ChildTickets are the tickets of Children.
func (r *Run) ChildTickets() []ChildTicket {
	if r.Children == nil {
		return nil
	}
	return r.Children.Tickets
}

// RunChildren is what clients read of the runs that a run has started.
type RunChildren struct {
	Tickets []ChildTicket `json:"tickets"` // the calls that wait for a person or a client
}

// RunParent names the run that started a child run.
type RunParent struct {
	ThreadID   string `json:"thread_id"`
	RunID      ID     `json:"run_id"`
	ToolCallID string `json:"tool_call_id,omitempty"` // the call that started the child, as the model named it
}

// DispatchStatus is the state of a delivery. It is independent of the outcome of the run.
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

// DispatchKind is the content of a dispatch.
type DispatchKind string

// The kinds: a new run, or input for the inbox of a run.
const (
	DispatchRun   DispatchKind = "run"
	DispatchInput DispatchKind = "input"
)

// Dispatch is the delivery of a run, or of input for an open run, as clients read it. Its
// status is that of the queue; the outcome of the run is RunStatus and Termination.
type Dispatch struct {
	ID        ID             `json:"dispatch_id"`
	RunID     ID             `json:"run_id"` // the run that it opens; for input, the run that reads it
	Kind      DispatchKind   `json:"kind"`
	Status    DispatchStatus `json:"status"`
	RunStatus RunStatus      `json:"run_status,omitempty"` // only for a run
	AgentID   string         `json:"agent_id,omitempty"`
	// Priority orders queued runs; it has no effect after the run opens.
	Priority    *uint8 `json:"priority,omitempty"`
	AvailableAt int64  `json:"available_at,omitempty"` // Unix milliseconds; 0: immediately
	// Attempts is the number of claims of the open run without progress, and MaxAttempts
	// its limit. ClaimedBy is the worker with the claim, until LeaseUntil (Unix
	// milliseconds).
	Attempts    int    `json:"attempts,omitempty"`
	MaxAttempts int    `json:"max_attempts,omitempty"`
	ClaimedBy   string `json:"claimed_by,omitempty"`
	LeaseUntil  int64  `json:"lease_until,omitempty"`
	// FailedCalls is the number of failed calls of the open run's model since its last
	// progress, up to 255. FailingSince is since when the run waits for its provider, in
	// Unix milliseconds: the next call is at AvailableAt.
	FailedCalls  int   `json:"failed_calls,omitempty"`
	FailingSince int64 `json:"failing_since,omitempty"`

	Messages    []Message    `json:"messages,omitempty"` // messages that no step has read; clients can edit them
	Tickets     []Ticket     `json:"tickets,omitempty"`  // tickets of the open run
	Termination *Termination `json:"termination,omitempty"`
	CreatedAt   int64        `json:"created_at"`             // Unix milliseconds
	CompletedAt int64        `json:"completed_at,omitempty"` // set after a step has opened the run
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

package core

// MaxDepth is how deep a tree of runs may be. A run that no call has started is at depth 0, and
// one at depth 5 starts no child.
const MaxDepth = 5

// ChildEnd is the end of a child run, as its parent receives it: the payload of the
// decision on the ticket that waits for it, or the text of internal input.
type ChildEnd struct {
	RunID       ID           `json:"run_id"`
	ThreadID    string       `json:"thread_id"`
	AgentID     string       `json:"agent_id,omitempty"`
	Termination *Termination `json:"termination"`
	Response    string       `json:"response,omitempty"` // text of the child's last assistant turn
	Cut         bool         `json:"cut,omitempty"`      // the response is longer than can be passed on; this is its start
	Steps       int          `json:"steps"`
	Usage       Usage        `json:"usage,omitzero"`
}

// ChildRun names a run that a call of another run has started.
type ChildRun struct {
	RunID      ID     `json:"run_id"`
	ThreadID   string `json:"thread_id"`
	AgentID    string `json:"agent_id,omitempty"`       // its agent; absent: unknown
	Parent     ID     `json:"parent_run_id"`            // the run that started it
	ParentCall string `json:"parent_call_id,omitempty"` // the call that started it, as the model named it; absent: unknown
}

// ChildTicket is a ticket of a run that another run has started, directly or through others.
type ChildTicket struct {
	ChildRun
	Ticket
}

// ActivityAgentRun is the kind of the activity that shows a child run. Its content is a
// [ChildProgress].
const ActivityAgentRun = "agent_run"

// ChildProgress is what a child run does, as the stream of the run that waits for it shows it.
type ChildProgress struct {
	ChildRun
	Status RunStatus `json:"status"`
	Text   string    `json:"text,omitempty"`  // the newest text of its model, at most the last 2,000 bytes of one response
	Tools  []string  `json:"tools,omitempty"` // names of the tools that run, in the order of their calls
	Steps  int       `json:"steps"`           // steps that are committed
	Usage  Usage     `json:"usage,omitzero"`  // of its responses so far
	// Termination is how it ended; absent while it is open.
	Termination *Termination `json:"termination,omitempty"`
}

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

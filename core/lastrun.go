package core

// LastRun is the part of a run, which has ended or waits, that a list of threads shows.
type LastRun struct {
	ID          ID           `json:"run_id"`
	AgentID     string       `json:"agent_id"`
	Status      RunStatus    `json:"status"`
	Termination *Termination `json:"termination,omitempty"` // without its detail
	Steps       int          `json:"steps"`
	Usage       Usage        `json:"usage,omitzero"`
}

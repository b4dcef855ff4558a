package core

// LastRun is what a list of threads shows of a run that has ended or waits.
type LastRun struct {
	ID          ID           `json:"run_id"`
	AgentID     string       `json:"agent_id"`
	Status      RunStatus    `json:"status"`
	Termination *Termination `json:"termination,omitempty"` // without its detail
	Steps       int          `json:"steps"`
	Usage       Usage        `json:"usage,omitzero"`
}

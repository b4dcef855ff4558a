package account

import (
	"github.com/reveille-run/reveille/core"
)

// Record is what a stretch of a run has used.
type Record struct {
	User     string          `json:"user,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Run      core.ID         `json:"run"`
	Root     core.ID         `json:"root,omitzero"` // the run at the top of its tree; zero: it is that run, or its record does not say
	Stretch  uint64          `json:"stretch"`
	Since    int64           `json:"since"` // unix milliseconds of its first commit
	Until    int64           `json:"until"` // and of its last
	End      string          `json:"end"`   // "waiting", "deleted" with its thread, or the type of the run's termination
	Models   []core.ModelUse `json:"models,omitempty"`
	Tools    int             `json:"tools,omitempty"` // calls whose tool has run
	ToolTime int64           `json:"tool_ms,omitempty"`
	Spent    core.Spent      `json:"spent,omitzero"`
	Memory   int             `json:"memory_mb,omitempty"` // of the function whose handler it was; 0: none that is billed
	// Lost means that the earlier usage of the run is not known, and so neither that of
	// this stretch: the record of the run is damaged.
	Lost bool `json:"lost,omitempty"`
}

// Waits reports whether the run waits after the stretch: it has not ended.
func (r *Record) Waits() bool { return r.End == "waiting" }

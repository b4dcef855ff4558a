package account

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Record is what a stretch of a run has used.
type Record struct {
	User     string            `json:"user,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	Run      core.ID           `json:"run"`
	Stretch  uint64            `json:"stretch"`
	Since    int64             `json:"since"` // unix milliseconds of its first commit
	Until    int64             `json:"until"` // and of its last
	End      string            `json:"end"`   // EndWaiting, EndDeleted, or the type of the run's termination
	Models   []thread.ModelUse `json:"models,omitempty"`
	Tools    int               `json:"tools,omitempty"` // calls whose tool has run
	ToolTime int64             `json:"tool_ms,omitempty"`
	Spent    thread.Spent      `json:"spent,omitzero"`
	Memory   int               `json:"memory_mb,omitempty"` // of the function whose handler it was; 0: none that is billed
	// Lost says that what the run had used before is not known, and so neither what this
	// stretch did: the record of the run is damaged.
	Lost bool `json:"lost,omitempty"`
}

// DefaultKeep is how long records and sums are kept: 13 months.
const DefaultKeep = 396 * 24 * time.Hour

// What a record says of the end of its stretch where the run has no termination.
const (
	EndWaiting = "waiting" // the run waits after it
	EndDeleted = "deleted" // its thread was deleted
)

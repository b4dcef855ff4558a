package thread

import (
	"github.com/reveille-run/reveille/core"
)

// Queued is the payload of a queued input record Q#<dispatch>#<revision>: what
// a run starts with, or what an inbox entry says.
type Queued struct {
	Run       core.ID        `json:"run,omitzero"` // zero for an inbox entry
	Dispatch  core.ID        `json:"dispatch"`
	AgentID   string         `json:"agent_id,omitempty"`
	Messages  []core.Message `json:"messages"`
	CreatedAt int64          `json:"created_at"` // unix milliseconds
}

// Encode returns the stored form. The same input gives the same bytes.
func (q Queued) Encode() ([]byte, error) {
	b, err := core.EncodeJSON(q)
	if err != nil {
		return nil, core.Errorf(core.CodeInternal, "encode queued input: %w", err)
	}
	return b, nil
}

// DecodeQueued reads a stored input; anything else is core.CodeCorrupt.
func DecodeQueued(b []byte) (Queued, error) {
	var q Queued
	if err := decodeStrictly(b, &q); err != nil {
		return Queued{}, core.Errorf(core.CodeCorrupt, "decode queued input: %w", err)
	}
	return q, nil
}

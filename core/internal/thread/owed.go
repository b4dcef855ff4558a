package thread

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// OutboxRecord is the payload of O#<id>: the receiver and content of an outbox entry,
// for entries that no run's record describes. It is put once, before the head that
// has the entry.
type OutboxRecord struct {
	To      []OutboxTarget  `json:"to"`
	Payload json.RawMessage `json:"payload,omitempty"` // what a message says; a cancel says nothing
}

// OutboxTarget is the receiver of an outbox entry, of the same tenant.
type OutboxTarget struct {
	Kind   TargetKind `json:"kind"`
	Thread string     `json:"thread"`
	Run    core.ID    `json:"run,omitzero"` // of TargetRun
	// AgentID is the agent of the run that a message to a thread without an open run
	// starts; empty: that of the thread's last run.
	AgentID string `json:"agent_id,omitempty"`
}

// TargetKind is the part of a thread that receives the entry.
type TargetKind string

// The target kinds. A record may have others that only a newer program knows.
const (
	TargetThread TargetKind = "thread" // the thread, with any of its runs
	TargetRun    TargetKind = "run"    // one run of it, and none that follows
)

// EncodeOutbox returns the stored form of an outbox entry's content. Equal content has
// equal bytes.
func (r Records) EncodeOutbox(o *OutboxRecord) ([]byte, error) { return r.encode("outbox record", o) }

// DecodeOutbox reads an outbox entry's content; errors as for DecodeEntry.
func (r Records) DecodeOutbox(b []byte) (OutboxRecord, error) {
	return decode[OutboxRecord](r, "outbox record", b)
}

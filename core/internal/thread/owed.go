package thread

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// OutboxRecord is the payload of O#<id>: whom an outbox entry is for and what it says, of
// entries of which no run's record says so. It is put once, before the head that has the
// entry. No program writes one yet.
type OutboxRecord struct {
	To      []OutboxTarget  `json:"to"`
	Payload json.RawMessage `json:"payload,omitempty"` // what a message says; a cancel says nothing
}

// OutboxTarget is somebody whom an outbox entry is for, of the same tenant.
type OutboxTarget struct {
	Kind   TargetKind `json:"kind"`
	Thread string     `json:"thread"`
	Run    core.ID    `json:"run,omitzero"` // of TargetRun
}

// TargetKind says what of a thread is meant.
type TargetKind string

// The target kinds. A record may have others that only a newer program knows.
const (
	TargetThread TargetKind = "thread" // the thread, whichever run it comes to
	TargetRun    TargetKind = "run"    // one run of it, and none that follows
)

// EncodeOutbox returns the stored form of what an outbox entry says. The same gives the
// same bytes.
func (r Records) EncodeOutbox(o *OutboxRecord) ([]byte, error) { return r.encode("outbox record", o) }

// DecodeOutbox reads what an outbox entry says; errors as for DecodeEntry.
func (r Records) DecodeOutbox(b []byte) (OutboxRecord, error) {
	return decode[OutboxRecord](r, "outbox record", b)
}

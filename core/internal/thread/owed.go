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
	Before  core.ID         `json:"before,omitzero"`   // another entry whose record counts as well; see [Left]
	Payload json.RawMessage `json:"payload,omitempty"` // what a message says; a cancel says nothing
}

// OutboxTarget is the receiver of an outbox entry, of the same tenant.
type OutboxTarget struct {
	Kind   TargetKind `json:"kind"`
	Thread string     `json:"thread,omitempty"` // empty: the one that the run's pointer leads to
	Run    core.ID    `json:"run,omitzero"`     // of TargetRun
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

// FailedMessage is the payload of the note of a message that was given up. It names its list
// as a [Listing] does; the message itself is its [OutboxRecord].
type FailedMessage struct {
	List    string       `json:"list"`
	At      int64        `json:"at"` // when it was given up, unix milliseconds
	Message core.ID      `json:"message_id"`
	To      OutboxTarget `json:"to"`
	Code    string       `json:"code"`
	Tries   int          `json:"tries"`
}

// EncodeFailed returns the stored form of the note of a failed message.
func (r Records) EncodeFailed(f *FailedMessage) ([]byte, error) { return r.encode("failed message", f) }

// DecodeFailed reads the note of a failed message; errors as for DecodeEntry.
func (r Records) DecodeFailed(b []byte) (FailedMessage, error) {
	return decode[FailedMessage](r, "failed message", b)
}

// EncodeOutbox returns the stored form of an outbox entry's content. Equal content has
// equal bytes.
func (r Records) EncodeOutbox(o *OutboxRecord) ([]byte, error) { return r.encode("outbox record", o) }

// DecodeOutbox reads an outbox entry's content; errors as for DecodeEntry.
func (r Records) DecodeOutbox(b []byte) (OutboxRecord, error) {
	return decode[OutboxRecord](r, "outbox record", b)
}

package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// The records of this package follow from ids that were made once, never from the clock: an
// attempt that is repeated must put the same bytes.

// pointer is where a run id or an idempotency key leads.
type pointer struct {
	Thread   string  `json:"thread"`
	Run      core.ID `json:"run"`
	Dispatch core.ID `json:"dispatch"`
	Body     string  `json:"body,omitempty"` // of keys: hash of what was submitted
}

// encoded is the pointer as package encoding/json would write it: names of threads and hashes
// have no character that it escapes.
func (p *pointer) encoded() []byte {
	const id = 36 // bytes of an id
	b := make([]byte, 0, len(`{"thread":"","run":"","dispatch":"","body":""}`)+len(p.Thread)+id+id+len(p.Body))
	b = append(append(b, `{"thread":"`...), p.Thread...)
	b = appendID(append(b, `","run":"`...), p.Run)
	b = appendID(append(b, `","dispatch":"`...), p.Dispatch)
	if p.Body != "" {
		b = append(append(b, `","body":"`...), p.Body...)
	}
	return append(b, `"}`...)
}

// appendID appends the text of an id, which is empty for the zero id.
func appendID(b []byte, id core.ID) []byte {
	if id.IsZero() {
		return b
	}
	return id.AppendTo(b)
}

// decodePointer reads a pointer of a run or a key; core.CodeCorrupt: it is not one.
func decodePointer(b []byte) (p pointer, err error) {
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
		return p, core.Errorf(core.CodeCorrupt, "decode pointer: %w", err)
	}
	return p, nil
}

// runName is the name of a run's pointer.
func runName(run core.ID) string {
	var room [40]byte
	return string(run.AppendTo(append(room[:0], "run:"...)))
}

// runPointer leads from a run to its thread. It never expires, also not when the thread is
// deleted: it then leads to the tombstone.
func runPointer(run core.ID, p pointer) store.Pointer {
	return encodePointer(runName(run), p, 0)
}

// encodePointer is the stored form of a pointer; ttl 0: it never expires.
func encodePointer(name string, p pointer, ttl time.Duration) store.Pointer {
	return store.Pointer{Name: name, Value: p.encoded(), TTL: ttl}
}

// dedupe is the form in which the head remembers a dispatch id; never 0, which is not a key.
// The head keeps the newest of these, and treats a dispatch that it remembers as a
// duplicate.
func dedupe(dispatch core.ID) uint64 {
	sum := sha256.Sum256(dispatch[:])
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// createdAt is the time in a UUIDv7, unix milliseconds.
// Stored times of creation come from ids, so that another attempt stores the same.
func createdAt(id core.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[:]) >> 16)
}

// inputRecord completes a submission, or one revision of it, and returns its stored form.
// Messages without an id get one that follows from the dispatch; the caller's stay as they are.
// The record expires inputLife after the dispatch was made: by then its run has read it.
func inputRecord(records thread.Records, in *thread.Queued, revision uint32) (store.Record, error) {
	in.CreatedAt = createdAt(in.Dispatch)
	messages := in.Messages
	in.Messages = make([]core.Message, 0, len(messages))
	for i, m := range messages {
		if m.ID == "" {
			var room [64]byte
			m.ID = string(strconv.AppendInt(append(in.Dispatch.AppendTo(room[:0]), '.'), int64(i), 10))
		}
		m.CreatedAt = in.CreatedAt
		in.Messages = append(in.Messages, m)
	}
	payload, err := records.EncodeQueued(in)
	if err != nil {
		return store.Record{}, err
	}
	return store.Record{
		Name: recordname.Input(in.Dispatch, revision), Payload: payload,
		Expires: (in.CreatedAt + inputLife.Milliseconds()) / 1000,
	}, nil
}

// auditRecord is the stored form of an audit that is written with a head's version.
// An audit records how an entry left the head: read at a sequence, or ended without a read. now
// is the time of that end, unix milliseconds; 0: the audit does not have it.
func auditRecord(records thread.Records, a thread.Audit, now int64, fence, version uint64) (store.Record, error) {
	name, record := recordname.Ended(a.ID), thread.AuditRecord{Run: a.Run, Status: a.Status, At: now}
	if a.Read != 0 { // without a time: a holder that tries again puts the same bytes
		name, record.Read, record.At = recordname.Read(a.ID), a.Read, 0
	}
	payload, err := records.EncodeAudit(record)
	return store.Record{Name: name, Fence: fence, Version: version, Payload: payload}, err
}

package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// pointer is where a run id or an idempotency key leads.
type pointer struct {
	Thread   string  `json:"thread"`
	Run      core.ID `json:"run"`
	Dispatch core.ID `json:"dispatch"`
	Body     string  `json:"body,omitempty"` // hash of the submission, for keys
}

func decodePointer(b []byte) (p pointer, err error) {
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
		return p, core.Errorf(core.CodeCorrupt, "decode pointer: %w", err)
	}
	return p, nil
}

func runName(run core.ID) string {
	var room [40]byte
	return string(run.AppendTo(append(room[:0], "run:"...)))
}

func keyName(threadID, key string) string {
	sum := sha256.Sum256([]byte(threadID + "\x00" + key))
	return "key:" + hex.EncodeToString(sum[:16])
}

func runPointer(run core.ID, p pointer) store.Pointer {
	return encodePointer(runName(run), p, 0)
}

func encodePointer(name string, p pointer, ttl time.Duration) store.Pointer {
	value, _ := json.Marshal(&p) // texts and ids always encode
	return store.Pointer{Name: name, Value: value, TTL: ttl}
}

// keyLife is how long an idempotency key is remembered. inputLife is how long
// queued input outlives its enqueue: it must be longer than a run can wait for
// the one before it, which may itself wait for a person.
const (
	keyLife   = 48 * time.Hour
	inputLife = 400 * 24 * time.Hour
)

// bodyHash identifies what a submission says, apart from its ids. It is stored with
// the Key, so its form must not change: a client's try after an upgrade would be
// refused as another submission.
func bodyHash(s Submission) (string, error) {
	if s.Key.Alone {
		return keyAlone, nil
	}
	if s.Key.Beside {
		s.Opening.Request, s.Opening.Frontend = nil, nil
	}
	b, err := json.Marshal(struct {
		Agent    string
		Messages []core.Message
		Mode     Mode
		Tail     uint64          `json:",omitempty"`
		Request  json.RawMessage `json:",omitempty"` // without blanks between its tokens
		Priority *uint8          `json:",omitempty"`
		At       int64           `json:",omitempty"`
		Delay    time.Duration   `json:",omitempty"`
		Into     core.ID         `json:",omitzero"`
		Retake   string          `json:",omitempty"` // where the Key does not say it
		Frontend *core.Frontend  `json:",omitempty"`
	}{s.Opening.AgentID, s.Messages, s.Mode, s.Opening.Supersede, s.Opening.Request, s.Opening.Priority, s.Opening.AvailableAt, s.Opening.Delay, s.Into, s.Opening.Retake.named(), s.Opening.Frontend})
	if err != nil {
		return "", core.Errorf(core.CodeInvalid, "encode submission: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// keyAlone stands in the place of a hash where the Key says all.
const keyAlone = "alone"

// dedupe is the head's form of a dispatch id; never 0, which is no key.
func dedupe(dispatch core.ID) uint64 {
	sum := sha256.Sum256(dispatch[:])
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// createdAt is the time in a UUIDv7, so that a retry writes the same bytes.
func createdAt(id core.ID) int64 {
	return int64(binary.BigEndian.Uint64(id[:8]) >> 16)
}

// inputRecord is the stored form of a submission or of one revision of it.
// Everything in it follows from the submission and the ids, so that a retry
// puts the same bytes.
func (s *Service) inputRecord(in thread.Queued, revision uint32) (store.Record, error) {
	in.CreatedAt = createdAt(in.Dispatch)
	messages := in.Messages
	in.Messages = make([]core.Message, 0, len(messages))
	for i, m := range messages {
		if m.ID == "" {
			m.ID = in.Dispatch.String() + "." + strconv.Itoa(i)
		}
		m.CreatedAt = in.CreatedAt
		in.Messages = append(in.Messages, m)
	}
	payload, err := s.records.EncodeQueued(&in)
	if err != nil {
		return store.Record{}, err
	}
	return store.Record{
		Name: store.InputName(in.Dispatch, revision), Payload: payload,
		Expires: (in.CreatedAt + inputLife.Milliseconds()) / 1000,
	}, nil
}

// auditRecord is the stored form of an audit that goes with a head's version.
func (s *Service) auditRecord(a thread.Audit, fence, version uint64) (store.Record, error) {
	name := store.EndedName(a.ID)
	if a.Read != 0 {
		name = store.ReadName(a.ID)
	}
	payload, err := s.records.EncodeAudit(thread.AuditRecord{Run: a.Run, Read: a.Read, Status: a.Status})
	return store.Record{Name: name, Fence: fence, Version: version, Payload: payload}, err
}

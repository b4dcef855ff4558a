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

func decodeStored(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// pointer is where a run id or an idempotency key leads.
type pointer struct {
	Thread   string  `json:"thread"`
	Run      core.ID `json:"run"`
	Dispatch core.ID `json:"dispatch"`
	Body     string  `json:"body,omitempty"` // hash of the submission, for keys
}

func runPointer(run core.ID) string { return "run:" + run.String() }

func keyPointer(threadID, key string) string {
	sum := sha256.Sum256([]byte(threadID + "\x00" + key))
	return "key:" + hex.EncodeToString(sum[:16])
}

// keyLife is how long an idempotency key is remembered. inputLife is how long
// queued input outlives its enqueue: it must be longer than a run can wait for
// the one before it, which may itself wait for a person.
const (
	keyLife   = 48 * time.Hour
	inputLife = 400 * 24 * time.Hour
)

// bodyHash identifies what a submission says, apart from its ids.
func bodyHash(s Submission) (string, error) {
	b, err := json.Marshal(struct {
		Agent    string
		Messages []core.Message
		Mode     Mode
	}{s.AgentID, s.Messages, s.Mode})
	if err != nil {
		return "", core.Errorf(core.CodeInvalid, "encode submission: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// dedupe is the head's form of a dispatch id; never 0.
func dedupe(dispatch core.ID) uint64 {
	sum := sha256.Sum256(dispatch[:])
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// createdAt is the time in a UUIDv7, so that a retry writes the same bytes.
func createdAt(id core.ID) int64 {
	return int64(binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...)))
}

// input builds the stored form of a submission. Everything in it follows from
// the submission and the dispatch id.
func input(s Submission, run, dispatch core.ID) thread.Queued {
	in := thread.Queued{
		Run: run, Dispatch: dispatch, AgentID: s.AgentID, CreatedAt: createdAt(dispatch),
		Messages: make([]core.Message, 0, len(s.Messages)),
	}
	for i, m := range s.Messages {
		if m.ID == "" {
			m.ID = dispatch.String() + "." + strconv.Itoa(i)
		}
		m.CreatedAt = in.CreatedAt
		in.Messages = append(in.Messages, m)
	}
	return in
}

func inputRecord(in thread.Queued) (store.Record, error) {
	b, err := in.Encode()
	if err != nil {
		return store.Record{}, err
	}
	return store.Record{
		Name: store.InputName(in.Dispatch, 0), Payload: b,
		Expires: (in.CreatedAt + inputLife.Milliseconds()) / 1000,
	}, nil
}

// consumed lists the inbox entries that an action takes for good: their audits
// are how a late retry of their submission learns that it was accepted.
func consumed(action thread.Action, run core.ID) (audits []thread.Audit) {
	var refs []thread.InboxRef
	switch a := action.(type) {
	case thread.CommitTurn:
		refs = a.Consumed
	case thread.CommitStep:
		refs = a.Consumed
	}
	for _, r := range refs {
		audits = append(audits, thread.Audit{Dispatch: r.ID, Run: run, Status: core.DispatchAcked})
	}
	return audits
}

func auditRecord(a thread.Audit) (store.Record, error) {
	b, err := json.Marshal(auditEntry{Run: a.Run, Status: a.Status})
	if err != nil {
		return store.Record{}, core.Errorf(core.CodeInternal, "encode audit: %w", err)
	}
	return store.Record{Name: store.AuditName(a.Dispatch), Payload: b}, nil
}

// auditEntry is the payload of A#<dispatch>.
type auditEntry struct {
	Run    core.ID             `json:"run"` // for an inbox entry: the run that was to read it
	Status core.DispatchStatus `json:"status"`
}

package protocol

import (
	"crypto/sha256"
	"net/http"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Complete checks a submission whose Thread has only the thread's id. It fills in the
// caller's tenant and user, and the default agent if the submission names no agent. A
// repeated submission without an agent belongs to the agent of the earlier run. Its
// errors have the codes invalid and, for an unknown agent, not_found.
func (v Server) Complete(s *mailbox.Submission, id core.Identity) error {
	s.Thread.Tenant, s.User = id.Tenant, id.User
	if s.Opening.AgentID == "" && s.Opening.Retake == nil {
		s.Opening.AgentID = v.Host.DefaultAgent()
	}
	if err := s.Check(); err != nil {
		return err
	}
	if s.Opening.AgentID != "" && !v.Host.HasAgent(s.Opening.AgentID) {
		return core.Errorf(core.CodeNotFound, "agent %q not found", core.Excerpt(s.Opening.AgentID))
	}
	return nil
}

// IdempotencyKey returns the value of the header Idempotency-Key, empty when it is absent.
func IdempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", core.Errorf(core.CodeInvalid, "header Idempotency-Key is given %d times", len(values))
	}
	return values[0], core.CheckName("header Idempotency-Key", values[0])
}

// NewThread makes the id of a new thread. With an idempotency key the id is derived from
// the key, so that a repeated request finds the run of the first one.
func (v Server) NewThread(id core.Identity, key string) string {
	if key == "" {
		return v.Env.NewID().String()
	}
	// NUL occurs in none of the three, so no two triples collide.
	sum := sha256.Sum256([]byte(id.Tenant + "\x00" + id.User + "\x00" + key))
	thread := core.ID(sum[:16])
	thread[6] = thread[6]&0x0f | 0x80 // UUIDv8: made by the application's own rule
	thread[8] = thread[8]&0x3f | 0x80
	return thread.String()
}

// Accepted is the body of a 202 for a run that was queued.
type Accepted struct {
	Status     string  `json:"status"` // running, queued or inputs_accepted
	ThreadID   string  `json:"thread_id"`
	RunID      core.ID `json:"run_id"`
	DispatchID core.ID `json:"dispatch_id"`
	StreamURL  string  `json:"stream_url,omitempty"`
}

// Queue submits and writes [Accepted]. It adds the path of the run's stream, if there is
// one, to StreamURL. If the client accepts only a stream, Queue refuses the request with
// [ErrBuffered] before it submits anything.
func (v Server) Queue(w http.ResponseWriter, r *http.Request, s mailbox.Submission, path func(mailbox.Receipt) string) error {
	if path != nil && Demanded(r) { // before the submission: a refused one must not run
		return ErrBuffered
	}
	receipt, err := v.Host.Submit(r.Context(), s)
	if err != nil {
		return err
	}
	a := Accepted{Status: "queued", ThreadID: receipt.ThreadID, RunID: receipt.RunID, DispatchID: receipt.DispatchID}
	if receipt.Running {
		a.Status = "running"
	}
	if path != nil {
		a.StreamURL = v.StreamURL + path(receipt)
	}
	JSON(w, http.StatusAccepted, a)
	return nil
}

package protocol

import (
	"net/http"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Complete gives a submission, whose Thread names the thread alone, the caller's
// tenant and user, and the default agent if it names none, and checks it. What is
// said again without an agent is the earlier run's. Its errors have the codes invalid
// and, for an unknown agent, not_found.
func (o Options) Complete(s *mailbox.Submission, id core.Identity) error {
	s.Thread.Tenant, s.User = id.Tenant, id.User
	if s.AgentID == "" && s.Retake == nil {
		s.AgentID = o.DefaultAgent
	}
	if err := s.Check(); err != nil {
		return err
	}
	if s.AgentID != "" && !o.Runtime.HasAgent(s.AgentID) {
		return core.Errorf(core.CodeNotFound, "agent %q not found", core.Excerpt(s.AgentID))
	}
	return nil
}

// Accepted is the body of a 202 for a run that was queued.
type Accepted struct {
	Status     string  `json:"status"` // running or queued
	ThreadID   string  `json:"thread_id"`
	RunID      core.ID `json:"run_id"`
	DispatchID core.ID `json:"dispatch_id"`
	StreamURL  string  `json:"stream_url,omitempty"`
}

// Queue submits and writes [Accepted]. The path of the run's stream, if there is
// one, is added to StreamURL; a client that takes nothing but a stream is refused
// then with [ErrBuffered], before anything is submitted.
func (o Options) Queue(w http.ResponseWriter, r *http.Request, s mailbox.Submission, path func(mailbox.Receipt) string) error {
	if path != nil && Demanded(r) { // before the submission: a refused one must not run
		return ErrBuffered
	}
	receipt, err := o.Runtime.Submit(r.Context(), s)
	if err != nil {
		return err
	}
	a := Accepted{Status: "queued", ThreadID: receipt.ThreadID, RunID: receipt.RunID, DispatchID: receipt.DispatchID}
	if receipt.Running {
		a.Status = "running"
	}
	if path != nil {
		a.StreamURL = o.StreamURL + path(receipt)
	}
	JSON(w, http.StatusAccepted, a)
	return nil
}

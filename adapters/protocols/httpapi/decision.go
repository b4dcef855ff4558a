package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// decided is the body of a 202 for a decision that was taken.
type decided struct {
	Status       string  `json:"status"` // always decision_submitted
	RunID        core.ID `json:"run_id"`
	ThreadID     string  `json:"thread_id"`
	ToolCallID   string  `json:"tool_call_id"`
	SuspensionID string  `json:"suspension_id"`
	DecisionID   string  `json:"decision_id"`
	Duplicate    bool    `json:"duplicate"`
}

// decideRun takes a decision on a call of a run. It returns when the decision is
// durable; what the run makes of it is in its stream.
func (a *api) decideRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	d, err := decision(r)
	if err != nil {
		return err
	}
	got, err := a.Host.Decide(r.Context(), id, runID, d)
	return taken(w, got, protocol.Hide(err, "suspended call "+core.Excerpt(d.Target)+" of run", runID.String()))
}

// decideThread is decideRun for the thread's open run.
func (a *api) decideThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	d, err := decision(r)
	if err != nil {
		return err
	}
	got, err := a.Host.DecideThread(r.Context(), id, thread, d)
	return taken(w, got, protocol.Hide(err, "suspended call "+core.Excerpt(d.Target)+" of thread", thread))
}

// taken writes the receipt of a decision; a duplicate's is the same but for its flag,
// so that a client that tries again need not tell the two apart.
func taken(w http.ResponseWriter, d mailbox.Decided, err error) error {
	if err != nil {
		return err
	}
	protocol.JSON(w, http.StatusAccepted, decided{
		Status: "decision_submitted", RunID: d.RunID, ThreadID: d.ThreadID,
		ToolCallID: d.CallID, SuspensionID: d.SuspensionID, DecisionID: d.DecisionID, Duplicate: d.Duplicate,
	})
	return nil
}

// decision reads the body of a decision. It names the call or the suspension; a
// payload may be any JSON.
func decision(r *http.Request) (d mailbox.Deciding, err error) {
	var b decisionBody
	if err := decode(r, &b); err != nil {
		return d, err
	}
	if b.ToolCallID != nil && b.SuspensionID != nil {
		return d, core.Errorf(core.CodeInvalid, "body has both tool_call_id and suspension_id")
	}
	if d.Target = cmp.Or(given(b.ToolCallID), given(b.SuspensionID)); d.Target == "" {
		return d, core.Errorf(core.CodeInvalid, "tool_call_id or suspension_id is required")
	}
	if b.RunID != "" {
		if d.Run, err = core.ParseID(string(b.RunID)); err != nil {
			return d, core.Errorf(core.CodeInvalid, "run_id %q is not the id of a run", core.Excerpt(string(b.RunID)))
		}
	}
	d.Decision = core.Decision{
		ID: string(b.DecisionID), Action: b.Action, Payload: b.Payload, Arguments: json.RawMessage(b.Arguments), Reason: b.Reason, Remember: b.Remember, RememberAs: b.RememberAs,
	}
	return d, d.Decision.Check()
}

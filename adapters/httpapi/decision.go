package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// decided is the body of a 202 for a decision that was taken.
type decided struct {
	Status       string  `json:"status"` // decision_submitted
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
	got, err := a.Runtime.Decide(r.Context(), id, runID, d)
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
	got, err := a.Runtime.DecideThread(r.Context(), id, thread, d)
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
	o, err := readObject(r)
	if err != nil {
		return d, err
	}
	if d.Target, err = o.text("tool_call_id", "toolCallId", "suspension_id", "suspensionId"); err != nil {
		return d, err
	}
	o.ask("suspension_id")
	action, err := o.text("action")
	if err != nil {
		return d, err
	}
	d.Decision.Action = core.DecisionAction(action)
	if _, d.Decision.Payload, _, err = o.take("payload"); err != nil {
		return d, err
	}
	if d.Decision.Reason, err = o.text("reason"); err != nil {
		return d, err
	}
	if d.Decision.ID, err = o.text("decision_id", "decisionId"); err != nil {
		return d, err
	}
	if err := readRemember(&o, &d.Decision); err != nil {
		return d, err
	}
	if err := o.end(); err != nil { // a misspelt key is named before a missing one
		return d, err
	}
	if d.Target == "" {
		return d, core.Errorf(core.CodeInvalid, "tool_call_id or suspension_id is required")
	}
	return d, d.Decision.Check()
}

// readRemember reads for how long a decision holds, and for what.
func readRemember(o *object, d *core.Decision) error {
	remember, err := o.text("remember")
	if err != nil {
		return err
	}
	as, err := o.text("remember_as", "rememberAs")
	d.Remember, d.RememberAs = core.Remember(remember), core.RememberAs(as)
	return err
}

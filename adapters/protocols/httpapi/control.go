package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// interrupted is the body of a 202 for an interrupt.
type interrupted struct {
	Status     string  `json:"status"` // always interrupt_requested
	ThreadID   string  `json:"thread_id"`
	Superseded int     `json:"superseded_dispatches"`
	Ended      core.ID `json:"interrupted_run_id,omitzero"` // without input: the run that was open
	RunID      core.ID `json:"run_id,omitzero"`             // with input: the new run
	DispatchID core.ID `json:"dispatch_id,omitzero"`
	Duplicate  bool    `json:"duplicate"`
}

// interruptThread ends all that is open or queued on a thread. A body puts a
// run in its place, in the same write. It returns when that is durable, not
// when the open run has ended.
func (a *api) interruptThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	var b interruption
	empty := emptyBody(r)
	if err := decodeOptional(r, &b); err != nil {
		return err
	}
	if !empty {
		return a.interruptWith(w, r, id, &b, thread)
	}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return err
	}
	if key != "" {
		key = "http:" + key
	}
	got, err := a.Host.InterruptThread(r.Context(), id, thread, key)
	if err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, interrupted{
		Status: "interrupt_requested", ThreadID: thread, Superseded: got.Superseded, Ended: got.RunID, Duplicate: got.Duplicate,
	})
	return nil
}

// interruptWith is a submission of mode interrupt, also on a thread where nothing is open.
func (a *api) interruptWith(w http.ResponseWriter, r *http.Request, id core.Identity, b *interruption, thread string) error {
	s, err := a.taken(r, id, &b.submitted, thread)
	if err != nil {
		return err
	}
	if s.Mode != "" && s.Mode != mailbox.ModeInterrupt {
		return core.Errorf(core.CodeInvalid, "mode %q of an interrupt, want interrupt", s.Mode)
	}
	s.Mode = mailbox.ModeInterrupt
	if err := a.Complete(&s, id); err != nil {
		return err
	}
	got, err := a.Host.Submit(r.Context(), s)
	if err != nil {
		return unknown(err, s)
	}
	protocol.JSON(w, http.StatusAccepted, interrupted{
		Status: "interrupt_requested", ThreadID: got.ThreadID, Superseded: got.Superseded, RunID: got.RunID, DispatchID: got.DispatchID, Duplicate: got.Duplicate,
	})
	return nil
}

// activeRun is the thread's open run, with the tickets that it waits for. No open run is
// not an error: a client asks this to find out whether there is something to reconnect
// to.
func (a *api) activeRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	got, ok, err := a.Host.ActiveRun(r.Context(), id, thread)
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	body := active{}
	if ok {
		body.Run = &got
	}
	protocol.JSON(w, http.StatusOK, body)
	return nil
}

// retryRun submits the input of a dead-lettered run again. However often it is asked,
// there is one new run.
func (a *api) retryRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	got, err := a.Host.RetryRun(r.Context(), id, runID)
	if err != nil {
		return protocol.Hide(err, "run", runID.String())
	}
	protocol.JSON(w, http.StatusAccepted, accepted("queued", got))
	return nil
}

// postInputs gives a run more input: its inbox while it is open, otherwise a separate run
// after it, which run_id names.
func (a *api) postInputs(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	var b furtherInput
	if err := decode(r, &b); err != nil {
		return err
	}
	s, err := b.submission(r, nil) // what is for a run takes nothing back
	if err != nil {
		return err
	}
	got, err := a.Host.SubmitTo(r.Context(), id, runID, s)
	if err != nil {
		return err // which reports whether the run or the agent does not exist
	}
	protocol.JSON(w, http.StatusAccepted, accepted("inputs_accepted", got))
	return nil
}

func accepted(status string, got mailbox.Receipt) protocol.Accepted {
	return protocol.Accepted{Status: status, ThreadID: got.ThreadID, RunID: got.RunID, DispatchID: got.DispatchID}
}

// cancelThread ends the thread's open run, or the first that is queued; see cancelRun.
func (a *api) cancelThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if _, err := a.Host.CancelThread(r.Context(), id, thread); err != nil {
		return protocol.Hide(err, "active run of thread", thread)
	}
	protocol.JSON(w, http.StatusAccepted, threadCancelled{Status: "cancel_requested", ThreadID: thread})
	return nil
}

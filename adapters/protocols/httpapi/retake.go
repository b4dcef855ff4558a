package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// continueRun continues a run that ended with an error. It never streams: the 202 names
// the new run, and the address of its stream.
func (a *api) continueRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	receipt, err := a.Host.TakeUp(r.Context(), id, runID)
	if err != nil {
		return protocol.Hide(err, "run", runID.String())
	}
	protocol.JSON(w, http.StatusAccepted, protocol.Accepted{
		Status: "queued", ThreadID: receipt.ThreadID, RunID: receipt.RunID, DispatchID: receipt.DispatchID, StreamURL: a.StreamURL + eventsPath(receipt),
	})
	return nil
}

// forked is the body of a 201 for a thread that was made of another.
type forked struct {
	ThreadID   string `json:"thread_id"`
	ForkedFrom string `json:"forked_from"`
	At         string `json:"at"`
	Messages   uint64 `json:"messages"`
	Duplicate  bool   `json:"duplicate"`
}

// forkThread makes a thread of another up to a message. Without a name it is new, or
// the Idempotency-Key's.
func (a *api) forkThread(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	var b fork
	if err := decode(r, &b); err != nil {
		return err
	}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return err
	}
	at, to := string(b.At), ""
	if b.ThreadID != nil {
		to = string(*b.ThreadID)
	} else {
		to = a.NewThread(id, key)
	}
	made, err := a.Host.Fork(r.Context(), id, thread, at, to)
	if err != nil {
		return err
	}
	protocol.JSON(w, http.StatusCreated, forked{ThreadID: made.ThreadID, ForkedFrom: thread, At: at, Messages: made.Messages, Duplicate: made.Duplicate})
	return nil
}

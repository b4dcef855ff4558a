package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// postRun starts a run and streams it. On a transport without streaming it queues the
// run, and returns the address of its stream. If the request is repeated with its
// Idempotency-Key and a Last-Event-ID, as @microsoft/fetch-event-source does after a lost
// connection, it streams the first request's run after that event.
func (a *api) postRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	var b newRun
	if err := decode(r, &b); err != nil {
		return err
	}
	s, err := a.submission(r, id, &b.submitted, string(b.ThreadID))
	if err != nil {
		return err
	}
	from, last, err := resumeAgain(r)
	if err != nil {
		return err
	}
	s.Key.Used = from.Active() // or a run would begin of which the client has no event
	if a.Buffered {
		return unknown(a.Queue(w, r, s, eventsPath), s)
	}
	return a.Serve(w, r, newEncoder(from, last, a.Env), func(l host.Listener) error {
		_, err := a.Host.Stream(r.Context(), s, l)
		return unknown(err, s)
	})
}

// eventsPath is where the stream of a queued run is.
func eventsPath(receipt mailbox.Receipt) string {
	return "/v1/runs/" + receipt.RunID.String() + "/events/stream"
}

func (a *api) getRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	record, err := a.Host.DescribeRun(r.Context(), id, runID)
	if err != nil {
		return protocol.Hide(err, "run", runID.String())
	}
	protocol.JSON(w, http.StatusOK, record)
	return nil
}

// cancelRun returns when the cancel is durable, not when the run has ended: that is
// its stream's last event.
func (a *api) cancelRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	if err := noBody(r); err != nil {
		return err
	}
	if err := a.Host.CancelRun(r.Context(), id, runID); err != nil {
		return protocol.Hide(err, "active run", runID.String())
	}
	protocol.JSON(w, http.StatusAccepted, runCancelled{RunID: runID, Status: "cancel_requested"})
	return nil
}

// followRun streams a run from its first event, or from the event after the client's last
// one. Nothing of the stream is kept between two connections: the replay has the same
// positions, and resume drops the events that the client has.
func (a *api) followRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	last, err := lastOf(r)
	if err != nil {
		return err
	}
	from, err := resumeFrom(last, runID)
	if err != nil {
		return err
	}
	if a.Buffered {
		return protocol.ErrBuffered
	}
	return a.Serve(w, r, newEncoder(from, last, a.Env), func(l host.Listener) error {
		return protocol.Hide(a.Host.Follow(r.Context(), id, runID, l), "run", runID.String())
	})
}

// runOf returns the run that the path names. A malformed id is treated as the id of no
// run.
func runOf(r *http.Request) (core.ID, error) {
	id, err := core.ParseID(r.PathValue("run"))
	if err != nil {
		return id, core.Errorf(core.CodeNotFound, "run %s not found", core.Excerpt(r.PathValue("run")))
	}
	return id, nil
}

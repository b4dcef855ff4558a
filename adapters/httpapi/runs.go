package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/runtime"
)

func (a *api) postRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	s, err := a.submission(r, id)
	if err != nil {
		return err
	}
	if a.Buffered {
		return a.queueRun(w, r, s)
	}
	return a.stream(w, r, resume{}, func(sink run.Sink) error {
		_, err := a.Runtime.Stream(r.Context(), s, runtime.ListenerFunc(sink))
		return hide(err, "thread", s.Thread.Thread)
	})
}

func (a *api) queueRun(w http.ResponseWriter, r *http.Request, s mailbox.Submission) error {
	if protocol.Demanded(r) {
		return protocol.ErrBuffered
	}
	receipt, err := a.Runtime.Submit(r.Context(), s)
	if err != nil {
		return hide(err, "thread", s.Thread.Thread)
	}
	answer := acceptance(receipt)
	answer.StreamURL = a.StreamURL + "/v1/runs/" + receipt.RunID.String() + "/events/stream"
	protocol.JSON(w, http.StatusAccepted, answer)
	return nil
}

func (a *api) getRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	record, err := a.Runtime.Run(r.Context(), id, runID)
	if err != nil {
		return hide(err, "run", runID.String())
	}
	protocol.JSON(w, http.StatusOK, record)
	return nil
}

func (a *api) cancelRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	if err := a.Runtime.CancelRun(r.Context(), id, runID); err != nil {
		return hide(err, "active run", runID.String())
	}
	protocol.JSON(w, http.StatusAccepted, map[string]string{"status": "cancel_requested", "run_id": runID.String()})
	return nil
}

func (a *api) followRun(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	runID, err := runOf(r)
	if err != nil {
		return err
	}
	from, err := resumeFrom(r.Header.Get("Last-Event-ID"), runID)
	if err != nil {
		return err
	}
	if a.Buffered {
		return protocol.ErrBuffered
	}
	return a.stream(w, r, from, func(sink run.Sink) error {
		return hide(a.Runtime.Follow(r.Context(), id, runID, runtime.ListenerFunc(sink)), "run", runID.String())
	})
}

// runOf returns the run that the path names. What is no run's id is the id of no
// run.
func runOf(r *http.Request) (core.ID, error) {
	id, err := core.ParseID(r.PathValue("run"))
	if err != nil {
		return id, core.Errorf(core.CodeNotFound, "run %s not found", core.Excerpt(r.PathValue("run")))
	}
	return id, nil
}

// failure is the last event of a stream that ends before its run.
type failure struct {
	Type string `json:"event_type"`
	protocol.Problem
}

// stream answers with the events that source emits and the client has not seen.
// An error before the first of them is a refusal, a later one the stream's last
// event.
func (a *api) stream(w http.ResponseWriter, r *http.Request, from resume, source func(run.Sink) error) error {
	out := eventWriter{Writer: protocol.NewWriter(w), last: r.Header.Get("Last-Event-ID")}
	err := out.KeepAlive(r.Context(), a.Env, func() error {
		return source(func(e core.Event) error {
			for _, e := range from.rest(e) {
				if err := out.send(e); err != nil {
					return err
				}
			}
			out.ended = out.ended || e.Type == core.EventRunFinish || e.Type == core.EventRunYield
			return nil
		})
	})
	if err == nil && !out.ended {
		err = core.Errorf(core.CodeUnavailable, "stream ended before its run")
	}
	switch {
	case out.Err() != nil || errors.Is(r.Context().Err(), context.Canceled): // the client is gone; the run goes on
		return nil
	case err != nil && !out.Started():
		return err
	case err != nil:
		protocol.Log(a.Log, err)
		data, _ := json.Marshal(failure{Type: "error", Problem: protocol.Public(err)}) // strings always marshal
		_ = out.Write(protocol.Frame{Data: data})                                      // nobody is left to tell
	case !out.Started():
		w.WriteHeader(http.StatusNoContent) // the client has seen everything
	}
	return nil
}

// eventWriter writes events as frames.
type eventWriter struct {
	*protocol.Writer
	last  string // id of the last frame
	ended bool   // the stream's last event was met
}

// send writes one event. An event that ends the stream but not the run repeats
// the id before it: what comes next belongs between the two.
func (w *eventWriter) send(e core.Event) error {
	suspended := e.Termination != nil && e.Termination.Type == core.TerminationSuspended
	if e.Position != "" && e.Type != core.EventRunYield && !suspended {
		w.last = e.Position
	}
	data, err := core.EncodeJSON(e)
	if err != nil {
		return core.Errorf(core.CodeInternal, "encode event: %w", err)
	}
	return w.Write(protocol.Frame{ID: w.last, Data: data})
}

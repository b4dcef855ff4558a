package aisdk

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/runtime"
)

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		err = core.Errorf(core.CodeInvalid, "read body: %w", err)
	}
	var req request
	if err == nil {
		req, err = decodeRequest(body)
	}
	if err == nil {
		err = req.check()
	}
	if err != nil {
		protocol.Refuse(w, h.Log, err)
		return
	}
	if m, ok := req.continued(); ok {
		h.decide(w, r, req, m)
		return
	}
	h.start(w, r, req)
}

// start starts a run with new input.
func (h *handler) start(w http.ResponseWriter, r *http.Request, req request) {
	s, err := h.submission(r, req)
	if err != nil {
		protocol.Refuse(w, h.Log, err)
		return
	}
	if h.Buffered {
		h.submit(w, r, s)
		return
	}
	shown, err := h.shownBefore(r, core.Identity{Tenant: s.Thread.Tenant, User: s.User}, s.Thread.Thread, req)
	if err != nil {
		protocol.Refuse(w, h.Log, hide(err))
		return
	}
	h.stream(w, r, Encoder{Shown: shown}, func(sink run.Sink) error {
		_, err := h.Runtime.Stream(r.Context(), s, runtime.ListenerFunc(sink))
		return hide(err)
	})
}

// submission makes a submission of a chat request.
func (h *handler) submission(r *http.Request, req request) (mailbox.Submission, error) {
	var s mailbox.Submission
	id, err := identity(r)
	if err != nil {
		return s, err
	}
	s.Thread = core.ThreadKey{Tenant: id.Tenant, Thread: first(r.PathValue("thread"), req.ID)}
	s.User = id.User
	s.AgentID = first(r.PathValue("agent"), req.AgentID, h.DefaultAgent)
	if s.Messages, err = req.input(); err != nil {
		return s, err
	}
	s.Key = messageKey(s.Messages)
	if err := s.Check(); err != nil {
		return s, err
	}
	if !h.Runtime.HasAgent(s.AgentID) {
		return s, core.Errorf(core.CodeNotFound, "agent %q not found", core.Excerpt(s.AgentID))
	}
	s.Messages, err = h.unknown(r.Context(), id, s.Thread.Thread, s.Messages)
	return s, err
}

// queued answers a chat request on a transport that cannot stream.
type queued struct {
	Status     string  `json:"status"`
	ThreadID   string  `json:"thread_id"`
	RunID      core.ID `json:"run_id"`
	DispatchID core.ID `json:"dispatch_id"`
	StreamURL  string  `json:"stream_url"`
}

func (h *handler) submit(w http.ResponseWriter, r *http.Request, s mailbox.Submission) {
	if protocol.Demanded(r) {
		protocol.Refuse(w, h.Log, protocol.ErrBuffered)
		return
	}
	receipt, err := h.Runtime.Submit(r.Context(), s)
	if err != nil {
		protocol.Refuse(w, h.Log, hide(err))
		return
	}
	status := "queued"
	if receipt.Running {
		status = "running"
	}
	protocol.JSON(w, http.StatusAccepted, queued{
		Status: status, ThreadID: receipt.ThreadID, RunID: receipt.RunID, DispatchID: receipt.DispatchID,
		StreamURL: h.StreamURL + "/v1/ai-sdk/chat/" + url.PathEscape(receipt.ThreadID) + "/stream",
	})
}

// resume replays the active run of a thread, or answers 204: the client asks
// for every chat that it opens.
func (h *handler) resume(w http.ResponseWriter, r *http.Request) {
	id, thread, err := named(r)
	if err != nil {
		protocol.Refuse(w, h.Log, err)
		return
	}
	info, err := h.Runtime.Thread(r.Context(), id, thread)
	switch core.CodeOf(err) {
	case "":
	case core.CodeNotFound, core.CodeForbidden, core.CodeDeleted:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		protocol.Refuse(w, h.Log, err)
		return
	}
	if info.ActiveRun.IsZero() || info.Status == core.RunWaiting || info.Status == core.RunDone {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if h.Buffered {
		protocol.Refuse(w, h.Log, protocol.ErrBuffered)
		return
	}
	shown, err := h.shownOf(r, id, thread, info.ActiveRun)
	if err != nil {
		protocol.Refuse(w, h.Log, hide(err))
		return
	}
	h.stream(w, r, Encoder{Shown: shown}, func(sink run.Sink) error {
		return hide(h.Runtime.Follow(r.Context(), id, info.ActiveRun, runtime.ListenerFunc(sink)))
	})
}

// stream answers with the events that source emits, as the encoder writes them. An error before the first
// of them is a plain refusal, a later one ends the stream as an error.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, encoder Encoder, source func(run.Sink) error) {
	out := protocol.NewWriter(w)
	out.SetHeader("X-Vercel-Ai-Ui-Message-Stream", "v1")
	send := func(frames [][]byte) error {
		for _, data := range frames {
			if err := out.Write(protocol.Frame{Data: data}); err != nil {
				return err
			}
		}
		return out.Err()
	}
	err := out.KeepAlive(r.Context(), h.Env, func() error {
		return source(func(e core.Event) error { return send(encoder.Encode(e)) })
	})
	switch {
	case out.Err() != nil || errors.Is(r.Context().Err(), context.Canceled): // the client is gone; the run goes on
	case err != nil && !out.Started():
		protocol.Refuse(w, h.Log, err)
	case err != nil:
		protocol.Log(h.Log, err)
		_ = send(encoder.Fail(protocol.Public(err).Error))
	case !encoder.Ended():
		_ = send(encoder.Fail(interrupted))
	}
}

// interrupted is what a client reads whose stream ended before the run. The
// client's protocol has no way to say it but an error.
const interrupted = "the stream ended before the run, which goes on; reconnect to follow it"

// messagePage is the largest page that the runtime gives.
const messagePage = 200

func (h *handler) messages(w http.ResponseWriter, r *http.Request) {
	id, thread, err := named(r)
	if err != nil {
		protocol.Refuse(w, h.Log, err)
		return
	}
	var all []core.Message
	q := runtime.MessageQuery{Limit: messagePage}
	for {
		page, err := h.Runtime.Messages(r.Context(), id, thread, q)
		if err != nil {
			protocol.Refuse(w, h.Log, hide(err))
			return
		}
		all = append(all, page.Messages...)
		if page.Next == 0 {
			break
		}
		q.After = page.Next
	}
	c := convert(all)
	if run, open := c.open(); open {
		record, err := h.Runtime.Run(r.Context(), id, run)
		if err != nil {
			protocol.Refuse(w, h.Log, hide(err))
			return
		}
		c.tickets(run, record.Tickets)
	}
	protocol.JSON(w, http.StatusOK, map[string][]uiMessage{"messages": c.out})
}

func (h *handler) cancel(w http.ResponseWriter, r *http.Request) {
	id, thread, err := named(r)
	if err != nil {
		protocol.Refuse(w, h.Log, err)
		return
	}
	if _, err := h.Runtime.CancelThread(r.Context(), id, thread); err != nil {
		protocol.Refuse(w, h.Log, hide(err))
		return
	}
	protocol.JSON(w, http.StatusAccepted, map[string]string{"status": "cancel_requested", "thread_id": thread})
}

// named returns the identity of a request and the thread in its path.
func named(r *http.Request) (core.Identity, string, error) {
	id, err := identity(r)
	if err != nil {
		return id, "", err
	}
	thread := r.PathValue("thread")
	return id, thread, core.CheckName("thread id", thread)
}

func identity(r *http.Request) (core.Identity, error) {
	id, ok := core.IdentityFrom(r.Context())
	if !ok {
		return id, core.Errorf(core.CodeUnauthorized, "the request carries no identity")
	}
	return id, nil
}

// hide makes another user's thread look like one that does not exist.
func hide(err error) error {
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeForbidden:
		return core.Errorf(core.CodeNotFound, "not found")
	}
	return err
}

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

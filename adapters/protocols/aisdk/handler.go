package aisdk

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// chat takes what useChat sends: the history, which is not believed, and at its end
// either a new message of the person or an assistant message whose parts decide.
func (h *handler) chat(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	skipped := protocol.Skipped(r)
	body, err := protocol.Body(r)
	if err != nil {
		return err
	}
	req, err := decodeRequest(body)
	if err != nil {
		return err
	}
	req.skipped = skipped
	if err := req.check(); err != nil {
		return err
	}
	if req.retakes() {
		return h.retake(w, r, id, req)
	}
	if m, ok := req.continued(); ok {
		return h.decide(w, r, id, req, m)
	}
	return h.start(w, r, id, req)
}

// start starts a run with new input.
func (h *handler) start(w http.ResponseWriter, r *http.Request, id core.Identity, req request) error {
	s, err := h.submission(r, id, req)
	if err != nil {
		return err
	}
	answers, shown, err := h.answered(r, id, s.Thread.Thread, req)
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		return h.startAnswered(w, r, id, answers, shown, s)
	}
	if h.Buffered {
		return hide(h.Queue(w, r, s, func(receipt mailbox.Receipt) string { return streamPath(receipt.ThreadID) }))
	}
	// Before the submission: after it the resumed run may have new steps, which could not
	// be distinguished from those that the client has.
	if shown, err = h.shownBefore(r, id, s.Thread.Thread, req); err != nil {
		return hide(err)
	}
	return h.Serve(w, r, &framed{encoder: encoder{Shown: shown}}, func(l host.Listener) error {
		_, err := h.Host.Stream(r.Context(), s, l)
		return hide(err)
	})
}

// submission makes a submission of a chat request.
func (h *handler) submission(r *http.Request, id core.Identity, req request) (s mailbox.Submission, err error) {
	s.Thread.Thread = first(r.PathValue("thread"), req.ID)
	requestlog.Of(r.Context()).Thread(s.Thread.Thread)
	s.Opening.AgentID = first(r.PathValue("agent"), req.AgentID)
	if s.Messages, err = req.input(); err != nil {
		return s, err
	}
	// The client's id of the newest message makes a request that is sent again the same
	// one: it has no header for that.
	s.Key.Value, s.Key.Loose = messageKey(s.Messages), true
	s.Opening.Request = req.extra
	if err := h.Complete(&s, id); err != nil {
		return s, err
	}
	s.Messages, err = h.unknown(r.Context(), id, s.Thread.Thread, s.Messages)
	return s, err
}

// streamPath is where the stream of a thread's run is.
func streamPath(thread string) string {
	return "/v1/ai-sdk/chat/" + url.PathEscape(thread) + "/stream"
}

// resume replays the active run of a thread. Without one it is 204, and no error: the
// client asks for every chat that it opens, also for one that has yet to begin. One
// that was deleted never will again.
func (h *handler) resume(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	info, err := h.Host.Thread(r.Context(), id, thread)
	switch core.CodeOf(err) {
	case "":
	case core.CodeNotFound, core.CodeForbidden:
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		return err
	}
	active, err := h.resumes(r, id, info)
	if err != nil {
		return err
	}
	if !active {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if h.Buffered {
		return protocol.ErrBuffered
	}
	shown, err := h.shownOf(r, id, thread, info.ActiveRun)
	if err != nil {
		return hide(err)
	}
	return h.Serve(w, r, &framed{encoder: encoder{Shown: shown}}, func(l host.Listener) error {
		return hide(h.Host.Follow(r.Context(), id, info.ActiveRun, l))
	})
}

// resumes reports whether the open run of a thread is shown to a client that comes back. A run
// that waits is not: the history has its tickets, and a decision is a separate request. One that
// waits for child runs alone is, since these work.
func (h *handler) resumes(r *http.Request, id core.Identity, info host.Thread) (bool, error) {
	if info.ActiveRun.IsZero() || info.Status != core.RunWaiting {
		return !info.ActiveRun.IsZero() && info.Status != core.RunDone, nil
	}
	record, err := h.Host.ReadRun(r.Context(), id, info.ActiveRun)
	if err != nil {
		return false, unlessNotFound(err)
	}
	other := func(t core.Ticket) bool { return t.Decision == nil && t.Kind != core.TicketChild }
	return len(record.Tickets) > 0 && !slices.ContainsFunc(record.Tickets, other), nil
}

// history is a thread's messages as the client keeps them: the newest, as many as
// a response may hold.
type history struct {
	Messages  []uiMessage `json:"messages"`
	Truncated bool        `json:"truncated,omitempty"` // there are messages before these
	Cut       bool        `json:"cut,omitempty"`       // and the first message of these is not whole: its run alone is too large
}

// messages returns the newest messages of a thread, whole runs of them.
func (h *handler) messages(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	thread, err := protocol.Thread(r)
	if err != nil {
		return err
	}
	page, err := h.Host.Messages(r.Context(), id, thread, host.MessageQuery{Newest: true})
	if err != nil {
		return protocol.Hide(err, "thread", thread)
	}
	c := convert(page.Messages)
	if run, open := c.open(); open {
		record, err := h.Host.ReadRun(r.Context(), id, run)
		if err != nil {
			return hide(err)
		}
		c.tickets(run, record.Tickets)
		c.childTickets(run, record.ChildTickets())
	}
	protocol.JSON(w, http.StatusOK, history{Messages: c.out, Truncated: page.Earlier, Cut: page.Cut})
	return nil
}

// cancelledBody is the body of a 202 for a cancel.
func cancelledBody(thread string) any {
	return map[string]string{"status": "cancel_requested", "thread_id": thread}
}

// interruptedBody is the body of a 202 for an interrupt.
func interruptedBody(thread string, ended mailbox.Receipt) any {
	return struct {
		Status     string `json:"status"`
		ThreadID   string `json:"thread_id"`
		Superseded int    `json:"superseded_dispatches"`
	}{"interrupt_requested", thread, ended.Superseded}
}

// hide makes another user's thread look like one that does not exist.
func hide(err error) error { return protocol.Hide(err) }

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

package agui

import (
	"net/http"
	"strings"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// exchange is a request that is being answered.
type exchange struct {
	h  *handler
	w  http.ResponseWriter
	r  *http.Request
	id core.Identity
	in input

	thread  string
	info    host.Thread   // zero: there is no such thread
	tickets []core.Ticket // of the open run, without a decision
	// children are those of runs that the open run has started, for persons.
	children []core.ChildTicket
}

// read reads a request's body and what its thread is doing.
func (h *handler) read(w http.ResponseWriter, r *http.Request, id core.Identity) (*exchange, error) {
	body, err := protocol.Body(r)
	if err != nil {
		return nil, err
	}
	in, err := decodeInput(body)
	if err != nil {
		return nil, err
	}
	a := &exchange{h: h, w: w, r: r, id: id, in: in, thread: r.PathValue("thread")}
	if a.thread == "" {
		a.thread = in.ThreadID
	}
	return a, a.look()
}

// look reads the state of the thread, and the tickets of its open run.
func (a *exchange) look() error {
	if err := core.CheckName("thread id", a.thread); err != nil {
		return err
	}
	info, err := a.h.Host.Thread(a.r.Context(), a.id, a.thread)
	if core.CodeOf(err) == core.CodeNotFound {
		return nil
	}
	if a.info = info; err != nil || info.Status != core.RunWaiting {
		return hide(err)
	}
	record, err := a.h.Host.ReadRun(a.r.Context(), a.id, info.ActiveRun)
	if core.CodeOf(err) == core.CodeNotFound {
		return nil
	}
	for _, t := range record.Tickets {
		if t.Decision == nil {
			a.tickets = append(a.tickets, t)
		}
	}
	for _, t := range record.ChildTickets() {
		if t.ByPerson() {
			a.children = append(a.children, t)
		}
	}
	return hide(err)
}

// active reports whether a run of the thread is open.
func (a *exchange) active() bool { return !a.info.ActiveRun.IsZero() && a.info.Status != core.RunDone }

// run takes an input: answers to what the run waits for, something new that a person has
// said, something that is said again, or the same request a second time.
func (h *handler) run(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	a, err := h.read(w, r, id)
	if err != nil {
		return err
	}
	s, err := a.submission()
	if err != nil {
		return err
	}
	speaks := len(s.Messages) > 0
	if err := a.refuseUnasked(speaks); err != nil {
		return err
	}
	answers, broken := a.answers(speaks)
	if broken != nil {
		return a.refuse(broken)
	}
	if len(answers) > 0 {
		return a.decide(answers, s)
	}
	run, known, err := a.alias()
	switch {
	case err != nil:
		return err
	case len(s.Messages) == 0 && known:
		return a.follow(run)
	case !known && a.asksPerson():
		return a.refuse(core.Errorf(core.CodeBusy, "the thread waits for an answer: resume must answer %s", strings.Join(a.interrupts(), ", ")))
	case len(s.Messages) == 0 && a.active():
		return a.follow(a.info.ActiveRun)
	case len(s.Messages) == 0:
		return core.Errorf(core.CodeInvalid, "no new message: the last of messages is the agent's, and nothing waits for an answer")
	}
	return a.say(s, run, known)
}

// submission makes a submission of the input.
func (a *exchange) submission() (s mailbox.Submission, err error) {
	s.Thread.Thread, s.Opening.AgentID = a.thread, a.r.PathValue("agent")
	requestlog.Of(a.r.Context()).Thread(a.thread)
	if s.Messages, err = a.in.said(); err != nil {
		return s, err
	}
	if s.Opening.Frontend, err = a.in.frontend(); err != nil {
		return s, err
	}
	if s.Opening.Request, err = a.in.request(); err != nil {
		return s, err
	}
	if a.in.RunID != "" {
		s.Key.Value, s.Key.Loose = runKey(a.in.RunID), true
	}
	return s, nil
}

// runKey is the key of what was submitted under a client's runId.
func runKey(run string) string { return "ag-ui:" + run }

// alias finds the run that the client's runId names.
func (a *exchange) alias() (run core.ID, ok bool, err error) {
	if a.in.RunID == "" || a.info.ID == "" {
		return run, false, nil
	}
	run, ok, err = a.h.Host.RunOfKey(a.r.Context(), a.id, a.thread, runKey(a.in.RunID))
	return run, ok, hide(err)
}

// say submits a user's message and streams the run. known reports that the same runId
// came before, for run: it is followed if it has read the message; otherwise the
// submission is refused for not being the same.
func (a *exchange) say(s mailbox.Submission, run core.ID, known bool) error {
	var runs map[string]core.ID
	if a.info.ID != "" { // else there is no thread
		var err error
		if runs, err = a.h.InputRuns(a.r.Context(), a.id, a.thread); err != nil {
			return err
		}
	}
	last := s.Messages[len(s.Messages)-1].ID
	to := response{History: a.in.Messages, State: a.in.sharedState()}
	switch _, said := runs[last]; {
	case known && said:
		return a.follow(run)
	case said && !known: // again, or an edited message in its place
		s.Opening.Retake, s.Messages = &mailbox.Retake{Message: last}, nil
	}
	s.Messages = unknown(s.Messages, runs, run)
	if err := a.h.Complete(&s, a.id); err != nil {
		return err
	}
	if a.h.Buffered {
		return hide(a.h.Queue(a.w, a.r, s, func(receipt mailbox.Receipt) string { return streamPath(receipt.ThreadID) }))
	}
	return a.serve(to, func(l host.Listener) error {
		_, err := a.h.Host.Stream(a.r.Context(), s, l)
		return hide(err)
	})
}

// serve streams a response.
func (a *exchange) serve(to response, source func(host.Listener) error) error {
	to.ThreadID, to.RunID, to.ParentRunID, to.Modern = a.thread, a.in.RunID, a.in.ParentRunID, a.in.modern()
	if to.RunID == "" && to.Reset {
		to.RunID = a.h.Env.NewID().String()
	}
	return a.h.Serve(a.w, a.r, &framed{encoder: newEncoder(to)}, source)
}

// refuse responds with a RUN_ERROR: what the protocol has for an input that does not
// answer what the thread waits for.
func (a *exchange) refuse(err error) error {
	if a.h.Buffered {
		return err
	}
	p := protocol.Public(err)
	return a.serve(response{}, func(l host.Listener) error {
		t := &core.Termination{Type: core.TerminationError, Code: string(p.Code), Detail: p.Error}
		return l.Emit(core.Event{Type: core.EventRunFinish, Termination: t})
	})
}

// connect shows the conversation, and follows the open run: the first request of a client
// that reconnects.
func (h *handler) connect(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	a, err := h.read(w, r, id)
	if err != nil {
		return err
	}
	return a.attach()
}

// stream is connect without an input.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, id core.Identity) error {
	a := &exchange{h: h, w: w, r: r, id: id, thread: r.PathValue("thread"), in: input{ProtocolVersion: r.URL.Query().Get("protocolVersion")}}
	if err := a.look(); err != nil {
		return err
	}
	if a.info.ID == "" {
		return core.Errorf(core.CodeNotFound, "thread %s not found", a.thread)
	}
	return a.attach()
}

func (a *exchange) attach() error {
	if a.active() {
		return a.follow(a.info.ActiveRun)
	}
	if a.h.Buffered {
		return protocol.ErrBuffered
	}
	to, err := a.history(core.ID{})
	if err != nil {
		return err
	}
	return a.serve(to, func(l host.Listener) error { return l.Emit(core.Event{Type: core.EventRunFinish}) })
}

// follow streams a run from its start.
func (a *exchange) follow(run core.ID) error {
	if a.h.Buffered {
		return protocol.ErrBuffered
	}
	to, err := a.history(run)
	if err != nil {
		return err
	}
	return a.serve(to, func(l host.Listener) error { return hide(a.h.Host.Follow(a.r.Context(), a.id, run, l)) })
}

// history is a response that starts with the conversation before a run: the thread's newest
// messages without the run's. Reasoning of it that the client has is emptied, since a client
// keeps messages that a snapshot does not name.
func (a *exchange) history(run core.ID) (to response, err error) {
	to.Reset = true
	if a.info.ID == "" {
		return to, nil
	}
	page, err := a.h.Host.Messages(a.r.Context(), a.id, a.thread, host.MessageQuery{Newest: true})
	if err != nil {
		return to, hide(err)
	}
	var before []core.Message
	for _, m := range page.Messages {
		if m.RunID != run || m.Role == core.RoleUser {
			before = append(before, m)
		}
	}
	to.Extras = extrasOf(before)
	messages := convert(before)
	for _, m := range a.in.messages {
		if m.Role == "reasoning" && !run.IsZero() && strings.HasPrefix(m.ID, run.String()+".") {
			messages = append(messages, message{ID: m.ID, Role: m.Role, Content: new("")})
		}
	}
	for _, m := range messages {
		raw, err := core.EncodeJSON(m)
		if err != nil {
			return to, core.Errorf(core.CodeInternal, "encode message %s: %w", m.ID, err)
		}
		to.History = append(to.History, raw)
	}
	return to, nil
}

// hide makes another user's thread look like one that does not exist.
func hide(err error) error { return protocol.Hide(err) }

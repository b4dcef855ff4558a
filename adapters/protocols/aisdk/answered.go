package aisdk

import (
	"errors"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// answered returns the decisions that come before new input: a client may settle a
// waiting call, and send nothing until its user writes a new message. seen is the part of
// the run that the messages before the response show. Calls that do not wait are part of
// the history.
func (h *handler) answered(r *http.Request, id core.Identity, thread string, req request) (all []answer, seen shown, err error) {
	m, ok := req.before()
	if !ok {
		return nil, seen, nil
	}
	said, err := readAnswers(m, req.approval)
	if err != nil || len(said) == 0 {
		return nil, seen, err
	}
	record, err := h.waiting(r, id, thread, m)
	if err != nil {
		return nil, seen, unlessNotFound(err)
	}
	for _, a := range said {
		waits := false
		for _, t := range a.tickets(record) {
			if a.gives(t) {
				waits = true
			}
		}
		if !waits {
			waits, err = a.find(record)
			if err != nil && !unasked(err) { // the person has not said that: the client has, to go on
				return nil, seen, err
			}
		}
		if waits {
			if a.Run.IsZero() {
				a.Run = record.ID
			}
			all = append(all, a)
		}
	}
	return all, shown{Run: record.ID, Steps: record.Steps}, nil
}

// unasked reports whether the error is that the call asks no client: it waits for a child run or
// a time.
func unasked(err error) bool {
	return errors.Is(err, protocol.ErrChild) || errors.Is(err, protocol.ErrTimer)
}

// gives reports whether a client gave up a call that waits for an approval: it denies the
// call then.
func (a answer) gives(t core.Ticket) bool {
	asks := t.Kind != core.TicketChild && t.Kind != core.TicketTimer
	return asks && t.Decision == nil && t.CallID == a.Target && !a.approval && a.Decision.Action == core.DecisionCancel
}

// before returns the assistant message before the new messages of the person.
func (r request) before() (uiMessage, bool) {
	i := len(r.Messages) - 1
	for i >= 0 && r.Messages[i].Role == string(core.RoleUser) {
		i--
	}
	if i < 0 || r.Messages[i].Role != string(core.RoleAssistant) {
		return uiMessage{}, false
	}
	return r.Messages[i], true
}

// startAnswered accepts decisions and then the input that was sent with them. The
// response is a separate message, since the client has the user's message after the one
// that it has answered.
func (h *handler) startAnswered(w http.ResponseWriter, r *http.Request, id core.Identity, answers []answer, shown shown, s mailbox.Submission) error {
	all := make([]mailbox.Deciding, len(answers))
	for i, a := range answers {
		all[i] = a.Deciding
	}
	if h.Buffered {
		for i, d := range all {
			if _, err := h.Host.DecideThread(r.Context(), id, s.Thread.Thread, d); err != nil {
				return hide(answers[i].explain(err))
			}
		}
		s.Answered = true
		return hide(h.Queue(w, r, s, func(receipt mailbox.Receipt) string { return streamPath(receipt.ThreadID) }))
	}
	return h.Serve(w, r, &framed{encoder: encoder{Shown: shown}}, func(l host.Listener) error {
		_, err := h.Host.StreamAnswered(r.Context(), id, all, s, l)
		return hide(err)
	})
}

package aisdk

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// A client repeats a message by the trigger regenerate-message, and replaces one by
// naming it when it sends another. It has truncated its own history there and then, so
// later messages of the thread must be superseded, with the runs that run or wait.

// triggerRegenerate is the trigger of a request that wants another answer.
const triggerRegenerate = "regenerate-message"

// retakes reports whether a request takes something of the thread back.
func (r request) retakes() bool {
	last := r.Messages[len(r.Messages)-1]
	return r.Trigger == triggerRegenerate || r.MessageID != "" && r.MessageID == last.ID && last.Role == string(core.RoleUser)
}

// submissions are what a request that takes something back may mean, the likelier
// first; each counts where the thread does not have the message of the one before.
// When it has none, a request of the client never arrived, and what it says is new.
func (h *handler) submissions(r *http.Request, id core.Identity, req request) (all []mailbox.Submission, err error) {
	last := req.Messages[len(req.Messages)-1]
	s := mailbox.Submission{Opening: mailbox.Opening{AgentID: first(r.PathValue("agent"), req.AgentID), Request: req.extra}, Key: mailbox.Key{Loose: true}}
	s.Thread.Thread = first(r.PathValue("thread"), req.ID)
	named := []string{req.MessageID, last.ID}
	if req.Trigger != triggerRegenerate {
		message, err := last.user(fmt.Sprintf("messages[%d]", req.skipped+len(req.Messages)-1))
		if err != nil {
			return nil, err
		}
		s.Messages, named = []core.Message{message}, named[:1]
	}
	for i, name := range named {
		if name == "" || i > 0 && name == named[i-1] {
			continue
		}
		again := s
		again.Opening.Retake = &mailbox.Retake{Message: storedID(name), Keyed: true}
		if err := h.Complete(&again, id); err != nil {
			return nil, err
		}
		all = append(all, again)
	}
	if last.Role == string(core.RoleUser) {
		s, err := h.submission(r, id, req)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "trigger %s: neither messageId nor the last of messages names a message", triggerRegenerate)
	}
	return all, nil
}

// storedID is a message of the thread that the client's message shows: of one that
// shows a run from its beginning, its first turn. The others are called as they are
// stored.
func storedID(message string) string {
	if _, err := core.ParseID(message); err == nil {
		return message + ".1"
	}
	return message
}

// retake takes something of the thread back and streams what comes instead.
func (h *handler) retake(w http.ResponseWriter, r *http.Request, id core.Identity, req request) error {
	all, err := h.submissions(r, id, req)
	if err != nil {
		return err
	}
	if h.Buffered {
		return anyOf(all, func(s mailbox.Submission) error {
			return h.Queue(w, r, s, func(receipt mailbox.Receipt) string { return streamPath(receipt.ThreadID) })
		})
	}
	encoder := &framed{}
	return h.Serve(w, r, encoder, func(l host.Listener) error {
		return anyOf(all, func(s mailbox.Submission) (err error) {
			if s.Opening.Retake == nil { // new input may go on with a run that waits
				if encoder.Shown, err = h.shownBefore(r, id, s.Thread.Thread, req); err != nil {
					return err
				}
			}
			_, err = h.Host.Stream(r.Context(), s, l)
			return err
		})
	})
}

// anyOf tries submissions in order until one is not refused because the thread does not
// have its message. A repeated message that was never read is found by its own id: the
// last submission is the same as the one that brought it.
func anyOf(all []mailbox.Submission, try func(mailbox.Submission) error) (err error) {
	for _, s := range all {
		err = try(s)
		unknown := core.CodeOf(err) == core.CodeNotFound || s.Messages == nil && errors.Is(err, mailbox.ErrUnread)
		if s.Opening.Retake == nil {
			return hide(err)
		}
		if !unknown {
			return err
		}
		err = protocol.Hide(err, "message", s.Opening.Retake.Message)
	}
	return err
}

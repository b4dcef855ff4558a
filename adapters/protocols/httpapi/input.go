package httpapi

import (
	"net/http"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/internal/requestlog"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// submission is the checked submission of a request that starts a run on a thread, or on a
// new one where it names none.
func (a *api) submission(r *http.Request, id core.Identity, b *submitted, thread string) (mailbox.Submission, error) {
	s, err := a.taken(r, id, b, thread)
	if err != nil {
		return s, err
	}
	return s, a.Complete(&s, id)
}

// taken is submission for one that is not checked yet.
func (a *api) taken(r *http.Request, id core.Identity, b *submitted, thread string) (s mailbox.Submission, err error) {
	retake, err := b.retake()
	if err != nil {
		return s, err
	}
	if retake != nil && thread == "" { // a new thread would have no message
		return s, core.Errorf(core.CodeInvalid, "threadId is required: the thread that has message %s", core.Excerpt(retake.Message))
	}
	if s, err = b.submission(r, retake); err != nil {
		return s, err
	}
	if thread == "" {
		key, err := protocol.IdempotencyKey(r)
		if err != nil {
			return s, err
		}
		thread = a.NewThread(id, key)
	}
	s.Thread.Thread = thread
	requestlog.Of(r.Context()).Thread(thread)
	return s, nil
}

// submission is the input without its thread. A message to retake may replace messages.
func (b *said) submission(r *http.Request, retake *mailbox.Retake) (s mailbox.Submission, err error) {
	if b.Messages == nil && retake == nil {
		return s, core.Errorf(core.CodeInvalid, "messages is required")
	}
	if b.Messages != nil {
		s.Messages = messages(b.Messages)
	}
	s.Mode, s.Opening.AgentID, s.Opening.Retake = b.Mode, b.AgentID, retake
	if string(b.Request) != "null" { // which is like an absent one
		s.Opening.Request = b.Request
	}
	b.queue(&s)
	return s, setKey(r, &s)
}

// queue sets when the run starts.
func (q queueing) queue(s *mailbox.Submission) {
	s.Opening.Priority, s.Opening.AvailableAt, s.Opening.Delay = q.Priority, q.AvailableAt, time.Duration(q.DelayMS)*time.Millisecond
}

// setKey sets the key that makes the request safe to send again.
func setKey(r *http.Request, s *mailbox.Submission) error {
	key, err := protocol.IdempotencyKey(r)
	if key != "" { // other protocols have separate keys on the same threads
		s.Key.Value = "http:" + key
	}
	return err
}

// retake is the message that the input repeats or replaces; may be nil.
func (b *submitted) retake() (*mailbox.Retake, error) {
	from, replaced, says := b.RegenerateFrom, b.ReplaceMessage, b.Messages != nil
	switch {
	case from != nil && replaced != nil:
		return nil, core.Errorf(core.CodeInvalid, "body has both regenerate_from and replace_message")
	case from != nil && says:
		return nil, core.Errorf(core.CodeInvalid, "body has both regenerate_from, which repeats a message, and messages; use replace_message for a new one")
	case from != nil:
		return &mailbox.Retake{Message: string(*from)}, nil
	case replaced != nil && !says:
		return nil, core.Errorf(core.CodeInvalid, "messages is required: the replacement for the message that replace_message names")
	case replaced != nil:
		return &mailbox.Retake{Message: string(*replaced)}, nil
	}
	return nil, nil
}

// unknown adds to the refusal of a submission the object that does not exist: the thread,
// or the named message in it. A thread of another user looks like a missing one.
func unknown(err error, s mailbox.Submission) error {
	if s.Opening.Retake != nil {
		return protocol.Hide(err, "message", core.Excerpt(s.Opening.Retake.Message), "of thread", s.Thread.Thread)
	}
	return protocol.Hide(err, "thread", s.Thread.Thread)
}

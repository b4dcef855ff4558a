package httpapi

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// submission reads a request that starts a run. The thread comes from the path
// or, when that names none, from the body or is new.
func (a *api) submission(r *http.Request, id core.Identity) (s mailbox.Submission, err error) {
	o, err := readObject(r)
	if err != nil {
		return s, err
	}
	if s, err = a.submissionOf(r, &o, id); err != nil {
		return s, err
	}
	return s, a.Complete(&s, id)
}

// submissionOf takes a submission from a body, all of which it must be. It is not
// checked; that is Complete's.
func (a *api) submissionOf(r *http.Request, o *object, id core.Identity) (s mailbox.Submission, err error) {
	if s.Opening.AgentID, err = o.text("agentId", "agent_id"); err != nil {
		return s, err
	}
	mode, err := o.text("mode")
	if err != nil {
		return s, err
	}
	thread, ofRun := r.PathValue("thread"), r.PathValue("run") != ""
	if thread == "" && !ofRun {
		if thread, err = o.text("threadId", "thread_id"); err != nil {
			return s, err
		}
	}
	if !ofRun { // what is for a run takes nothing back
		if s.Opening.Retake, err = o.retake(); err != nil {
			return s, err
		}
	}
	says := o.has("messages")
	if says || s.Opening.Retake == nil {
		o.ask("messages")
	}
	if says {
		if s.Messages, err = o.messages(); err != nil {
			return s, err
		}
	}
	if s.Opening.Request, err = o.request(); err != nil {
		return s, err
	}
	if err := o.queueing(&s); err != nil {
		return s, err
	}
	if err := o.end(); err != nil { // a misspelt messages is named before a missing one
		return s, err
	}
	if !says && s.Opening.Retake == nil {
		return s, core.Errorf(core.CodeInvalid, "messages is required")
	}
	if s.Opening.Retake != nil && thread == "" { // a new thread would have no message
		return s, core.Errorf(core.CodeInvalid, "threadId is required: the thread that has message %s", core.Excerpt(s.Opening.Retake.Message))
	}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return s, err
	}
	if key != "" { // other protocols have keys of their own on the same threads
		s.Key.Value = "http:" + key
	}
	if thread == "" && !ofRun {
		thread = a.NewThread(id, key)
	}
	s.Thread.Thread, s.Mode = thread, mailbox.Mode(mode)
	return s, nil
}

// queueing takes what says when a run comes to its turn.
func (o *object) queueing(s *mailbox.Submission) error {
	priority, found, err := o.number("priority", 0, math.MaxUint8)
	if err != nil {
		return err
	}
	if found {
		p := uint8(priority)
		s.Opening.Priority = &p
	}
	if s.Opening.AvailableAt, _, err = o.number("available_at", 0, math.MaxInt64); err != nil {
		return err
	}
	delay, _, err := o.number("delay_ms", 0, mailbox.MaxDelay.Milliseconds())
	s.Opening.Delay = time.Duration(delay) * time.Millisecond
	return err
}

// Fields of a request that takes something of the thread back: what was said is said
// again, or what comes with the request stands in its place.
var (
	again   = []string{"regenerate_from", "regenerateFrom"}
	instead = []string{"replace_message", "replaceMessage"}
)

// retake takes the message that a request names to take back to; nil: none. It comes
// before the messages, which must not come with what is said again.
func (o *object) retake() (*mailbox.Retake, error) {
	says := o.has("messages")
	from, anew, err := o.named(again...)
	if err != nil {
		return nil, err
	}
	replaced, other, err := o.named(instead...)
	switch {
	case err != nil:
		return nil, err
	case anew && other:
		return nil, core.Errorf(core.CodeInvalid, "%s has both %s and %s", o.at, again[0], instead[0])
	case anew && says:
		return nil, core.Errorf(core.CodeInvalid, "%s has both %s, which says the same again, and messages; with %s others are said", o.at, again[0], instead[0])
	case anew:
		return &mailbox.Retake{Message: from}, nil
	case other && !says:
		return nil, core.Errorf(core.CodeInvalid, "messages is required: what takes the place of the one that %s names", instead[0])
	case other:
		return &mailbox.Retake{Message: replaced}, nil
	}
	return nil, nil
}

// named takes an optional string and reports whether it is there.
func (o *object) named(names ...string) (text string, there bool, err error) {
	there = slices.ContainsFunc(names, func(name string) bool { return o.find(name) >= 0 })
	text, err = o.text(names...)
	return text, there, err
}

// unknown makes the refusal of a submission say what does not exist: the thread, or in
// it the message that is named. A thread of another's is like none.
func unknown(err error, s mailbox.Submission) error {
	if s.Opening.Retake != nil {
		return protocol.Hide(err, "message", core.Excerpt(s.Opening.Retake.Message), "of thread", s.Thread.Thread)
	}
	return protocol.Hide(err, "thread", s.Thread.Thread)
}

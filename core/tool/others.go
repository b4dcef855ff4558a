package tool

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Message is a text for another thread. Exactly one of Parent, Child and Thread says for which.
type Message struct {
	Text string // at least one character that is not blank
	// Parent: for the thread of the run that has started the call's run.
	Parent bool
	// Child: for a run that a call of the thread has started. No later run of its thread reads
	// the message.
	Child core.ID
	// Thread: for a thread, which must not be the call's own.
	Thread string
	// AgentID is the agent of the run that the message starts if the thread has no open run;
	// empty: the agent of its last run. A message for a Child starts none.
	AgentID string
	// Name distinguishes several messages of one call; see [core.CheckName]. Empty: the call
	// sends one.
	Name string
}

// FailedMessage is a message that could not be delivered, and is not tried again.
type FailedMessage struct {
	ID     core.ID `json:"message_id"`
	Thread string  `json:"thread_id"` // for which it was
	Code   string  `json:"code"`      // of [MessageError]
	Tries  int     `json:"tries"`
	At     int64   `json:"failed_at"` // when it was given up, unix milliseconds
}

// MessageError is the reason why a message is not sent, which no repetition changes.
type MessageError struct {
	// Code is recipient_not_found, recipient_unavailable or outbox_full. Messages that are given
	// up later can also have recipient_full, message_lost or delivery_failed.
	Code  string
	Cause error
}

// Error implements error.
func (e *MessageError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *MessageError) Unwrap() error { return e.Cause }

// ChildRun reads a run that a call of the thread has started, in this run or an earlier one.
// Its Response is the text of its last message so far if it is not over.
//
// core.CodeNotFound: no call of the thread has started such a run. core.CodeUnsupported: the
// host has no access to other runs.
func (c Call) ChildRun(ctx context.Context, run core.ID) (core.Run, error) {
	if c.Others == nil {
		return core.Run{}, c.noOthers("read another run")
	}
	return c.Others.ChildRun(ctx, c, run)
}

// CancelRun cancels a run that a call of the thread has started, or the call's own run, and
// returns how many runs end: the run, and those below it that are not detached. At most 64 below
// it are counted.
// Errors are those of ChildRun; core.CodeNotFound also of a run that is over.
func (c Call) CancelRun(ctx context.Context, run core.ID) (cancelled int, err error) {
	if c.Others == nil {
		return 0, c.noOthers("cancel a run")
	}
	return c.Others.CancelRun(ctx, c, run)
}

// Send sends a message to another thread, durably, and returns its id. The message is delivered
// after the step, to the open run, which reads it at its next step, or as the input of another
// run. The same call that runs again sends the same message once.
//
// A [*MessageError]: it cannot be sent. core.CodeUnsupported: the host sends no messages.
func (c Call) Send(ctx context.Context, m Message) (core.ID, error) {
	named := 0
	for _, is := range []bool{m.Parent, !m.Child.IsZero(), m.Thread != ""} {
		if is {
			named++
		}
	}
	switch {
	case c.Others == nil:
		return core.ID{}, c.noOthers("send a message")
	case named != 1:
		return core.ID{}, core.Errorf(core.CodeInvalid, "message: %d recipients, want one of parent, child and thread", named)
	case core.Blank(m.Text):
		return core.ID{}, core.Errorf(core.CodeInvalid, "message: the text is blank")
	}
	for _, n := range []struct{ what, name string }{{"message: name", m.Name}, {"message: thread", m.Thread}, {"message: agent", m.AgentID}} {
		if n.name == "" {
			continue
		}
		if err := core.CheckName(n.what, n.name); err != nil {
			return core.ID{}, err
		}
	}
	return c.Others.SendMessage(ctx, c, m)
}

// FailedMessages returns the messages of the call's thread that could not be delivered, in the
// order in which they were sent, at most 100.
func (c Call) FailedMessages(ctx context.Context) ([]FailedMessage, error) {
	if c.Others == nil {
		return nil, c.noOthers("read messages")
	}
	return c.Others.FailedMessages(ctx, c)
}

// RecoverMessages sends the failed messages of the call's thread again, each with five new
// tries, or drops them, and returns how many. It sends at most as many as there are places for outgoing messages.
func (c Call) RecoverMessages(ctx context.Context, again bool) (messages int, err error) {
	if c.Others == nil {
		return 0, c.noOthers("send messages again")
	}
	return c.Others.RecoverMessages(ctx, c, again)
}

func (c Call) noOthers(what string) error {
	return core.Errorf(core.CodeUnsupported, "tool %s cannot %s here", c.Name, what)
}

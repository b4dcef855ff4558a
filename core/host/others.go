package host

import (
	"context"
	"crypto/sha256"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool has no client's identity: it acts for the tenant and the user of its run, whatever its
// model was told by others. Three rules bound what it can reach.
//
//   - It reads and cancels its own run, and runs that calls of its thread have started. Their
//     ids are in the thread's state, so that a later run of the thread reaches them too.
//   - It writes to any thread of its user, whose existence alone it learns by that. A thread of
//     another user is to it as one that does not exist.
//   - It recovers the failed messages of its own thread.
//
// Nothing here waits for another run: a read is of what is committed, a cancel and a message are
// one write each, and what follows from them is the outbox's and the other thread's worker's.

// others is the access of tools to runs of other threads.
type others struct {
	mailbox *mailbox.Service
	store   store.Backend
	records thread.Records
}

// ChildRun implements tool.Call.Others.
func (o others) ChildRun(ctx context.Context, call tool.Call, run core.ID) (core.Run, error) {
	key, head, record, err := o.child(ctx, call, run)
	if err != nil || record.Status == core.RunDone {
		return record, err
	}
	// A run's record is written where it starts, waits and ends. In between the head knows more:
	// the step that is under way counts.
	if head.Run.ID == run {
		record.Steps = max(record.Steps, int(head.Run.Step))
	}
	record.Response, err = o.said(ctx, key, head, record)
	return record, err
}

// child finds a run that a call of the thread has started, in the call's run or an earlier one.
// Any other run is not found, also a run of the same user: a model that reads
// or guesses an id must not read or end the work of another thread.
func (o others) child(ctx context.Context, call tool.Call, run core.ID) (key core.ThreadKey, head thread.Head, record core.Run, err error) {
	none := core.Errorf(core.CodeNotFound, "no call of the thread has started the run %s", run)
	key, dispatch, ok, err := o.mailbox.Locate(ctx, call.Thread.Tenant, run)
	switch {
	case err != nil:
		return key, head, record, err
	case !ok:
		return key, head, record, none
	}
	if head, err = o.mailbox.Head(ctx, key); err != nil {
		return key, head, record, err
	}
	if head.Deleted || head.Owner != "" && head.Owner != call.User {
		return key, head, record, none
	}
	record, ok, err = o.mailbox.Run(ctx, key, head, run, dispatch)
	if err == nil && (!ok || record.StartedBy == nil || record.StartedBy.ThreadID != call.Thread.Thread) {
		err = none
	}
	return key, head, record, err
}

// outputLook is how many records of the log are searched for what a run has said so far.
const outputLook = 100

// said is the text of the last message of a run that is not over; empty: it has said nothing,
// or nothing in the newest outputLook records. The words of a turn that is not committed are not
// part of it: another worker may be repeating that turn.
func (o others) said(ctx context.Context, key core.ThreadKey, head thread.Head, run core.Run) (string, error) {
	if run.FirstSeq == 0 || run.FirstSeq > head.Seq {
		return "", nil
	}
	first := max(run.FirstSeq, head.Seq-min(head.Seq, outputLook)+1)
	for e, err := range threadlog.EntriesBackwards(ctx, o.store, o.records, key, first, head.Seq) {
		if err != nil {
			return "", err
		}
		if m := e.Message; m != nil && m.Role == core.RoleAssistant && e.Run == run.ID {
			if text := m.Text(); text != "" {
				return text, nil
			}
		}
	}
	return "", nil
}

// CancelRun implements tool.Call.Others.
func (o others) CancelRun(ctx context.Context, call tool.Call, run core.ID) (cancelled int, err error) {
	key := call.Thread
	if run != call.Run {
		if key, _, _, err = o.child(ctx, call, run); err != nil {
			return 0, err
		}
	}
	// The runs below are not cancelled here: the end of the run owes it to them, and a worker
	// delivers that, see mailbox. So the receipt is early, and the count is of what will end.
	below := mailbox.CountBelow(ctx, o.mailbox, key, run)
	if _, err := o.mailbox.Cancel(ctx, key, run); err != nil {
		return 0, err
	}
	return 1 + below, nil
}

// codeNoRecipient is the code of mailbox.MessageCode for a receiver that does not exist. It is
// also that of a parent or child that the call does not have.
const codeNoRecipient = "recipient_not_found"

// SendMessage implements tool.Call.Others. The text begins with the sender, since the model that
// reads it knows nothing else of where it comes from. The receiver sees whose agent it was and
// on which thread an answer would reach it.
//
// A message that no later try can send is a *tool.MessageError, and any other error is that of
// the store, after which the call is tried again.
func (o others) SendMessage(ctx context.Context, call tool.Call, m tool.Message) (core.ID, error) {
	head, err := o.mailbox.Head(ctx, call.Thread)
	if err != nil {
		return core.ID{}, err
	}
	// The own record has the agent and the parent. It is read for each message: a run of a user
	// has none of either in its head, and the call does not bring them.
	own, _, err := o.mailbox.Run(ctx, call.Thread, head, call.Run, head.Run.Dispatch)
	if err != nil {
		return core.ID{}, err
	}
	to := mailbox.Recipient{Thread: m.Thread, AgentID: m.AgentID}
	switch {
	case m.Parent && own.StartedBy == nil:
		return core.ID{}, &tool.MessageError{Code: codeNoRecipient, Cause: core.Errorf(core.CodeNotFound, "no other run has started this one")}
	case m.Parent:
		to.Thread = own.StartedBy.ThreadID
	case !m.Child.IsZero():
		key, _, _, err := o.child(ctx, call, m.Child)
		if core.CodeOf(err) == core.CodeNotFound {
			return core.ID{}, &tool.MessageError{Code: codeNoRecipient, Cause: err}
		}
		if err != nil {
			return core.ID{}, err
		}
		to = mailbox.Recipient{Thread: key.Thread, Run: m.Child}
	}
	id := messageID(call, m.Name)
	text := "Message from the agent " + own.AgentID + " of thread " + call.Thread.Thread + ":\n" + m.Text
	err = o.mailbox.Send(ctx, call.Thread, head, mailbox.Message{ID: id, Run: call.Run, To: to, Messages: []core.Message{core.UserMessage(text)}})
	if err != nil {
		return core.ID{}, refusal(err)
	}
	return id, nil
}

// refusal is the error of a message as a tool receives it.
func refusal(err error) error {
	if code, refused := mailbox.MessageCode(err); refused {
		return &tool.MessageError{Code: code, Cause: err}
	}
	return err
}

// messageID is the id of a message, from the key of the call that sends it: a call that runs
// again sends the same message. It has the time of the call's run.
func messageID(call tool.Call, name string) core.ID {
	sum := sha256.Sum256([]byte("message " + call.Key() + "/" + name))
	id := wire.DerivedID(sum[:])
	copy(id[:6], call.Run[:])
	return id
}

// FailedMessages implements tool.Call.Others.
func (o others) FailedMessages(ctx context.Context, call tool.Call) (failed []tool.FailedMessage, err error) {
	list, err := o.mailbox.FailedMessages(ctx, call.Thread, call.User)
	for _, f := range list {
		failed = append(failed, tool.FailedMessage{ID: f.Message, Thread: f.To.Thread, Code: f.Code, Tries: f.Tries, At: f.At})
	}
	return failed, err
}

// RecoverMessages implements tool.Call.Others.
func (o others) RecoverMessages(ctx context.Context, call tool.Call, again bool) (messages int, err error) {
	return o.mailbox.RecoverMessages(ctx, call.Thread, call.User, again)
}

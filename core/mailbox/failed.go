package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A message that was given up is a record of the thread that sent it, next to its content. A
// list of the tenant has it until it is sent again or cleared: then the record moves to
// another list, and expires.

// FailedMessage is a message that was given up.
type FailedMessage struct {
	ID       core.ID
	ThreadID string // that sent it
	To       Recipient
	Code     string
	Tries    int
	FailedAt int64 // unix milliseconds
}

// The codes of messages that were given up, and of those that are refused when they are sent.
const (
	CodeRecipientNotFound    = "recipient_not_found"   // see ErrRecipientNotFound
	CodeRecipientUnavailable = "recipient_unavailable" // see ErrRecipientUnavailable
	CodeRecipientFull        = "recipient_full"        // its inbox, its queue, or a limit of the tenant had no place
	CodeMessageLost          = "message_lost"          // its record cannot be read
	CodeOutboxFull           = "outbox_full"           // see thread.ErrTooManyMessages
	CodeDeliveryFailed       = "delivery_failed"       // anything else; the log has the errors
)

// messageCode is the code of an error of a message.
func messageCode(err error) string {
	switch {
	case errors.Is(err, ErrRecipientNotFound):
		return CodeRecipientNotFound
	case errors.Is(err, ErrRecipientUnavailable):
		return CodeRecipientUnavailable
	case errors.Is(err, thread.ErrTooManyMessages):
		return CodeOutboxFull
	}
	switch core.CodeOf(err) {
	case core.CodeFull, core.CodeTenantLimit, core.CodeTenantSpend:
		return CodeRecipientFull
	case core.CodeCorrupt:
		return CodeMessageLost
	}
	return CodeDeliveryFailed
}

// MessageCode is the code of an error that [Service.Send] has returned.
func MessageCode(err error) string { return messageCode(err) }

// failedPage is how many failed messages of a thread are read at once, and replayed or cleared.
const failedPage = 100

// clearedFor is how long a store keeps the note of a message that is no longer listed.
const clearedFor = 24 * time.Hour

// listed is the stored form of a failed message in a list, as of a head.
func (f FailedMessage) listed(records thread.Records, head thread.Head, list string) (store.Record, error) {
	note := thread.FailedMessage{
		List: list, At: f.FailedAt, Message: f.ID, Code: f.Code, Tries: f.Tries,
		To: thread.OutboxTarget{Kind: thread.TargetThread, Thread: f.To.Thread, Run: f.To.Run, AgentID: f.To.AgentID},
	}
	if !f.To.Run.IsZero() {
		note.To.Kind = thread.TargetRun
	}
	payload, err := records.EncodeFailed(&note)
	return store.Record{Name: recordname.Failed(f.ID), Fence: head.Fence, Version: head.Version, Payload: payload}, err
}

// FailedMessages returns the messages of a thread that were given up and not cleared, in the
// order in which they were sent, at most 100. thread.ErrNotFound, thread.ErrForbidden and
// thread.ErrDeleted are those of the thread.
func (s *Service) FailedMessages(ctx context.Context, key core.ThreadKey, user string) ([]FailedMessage, error) {
	_, failed, err := s.failedOf(ctx, key, user)
	return failed, err
}

// failedOf is FailedMessages, with the head that it has read before.
func (s *Service) failedOf(ctx context.Context, key core.ThreadKey, user string) (head thread.Head, failed []FailedMessage, err error) {
	if head, err = s.Head(ctx, key); err != nil {
		return head, nil, err
	}
	err = checkAccess(head, user)
	if err == nil && !head.Exists() {
		err = thread.ErrNotFound
	}
	if err != nil {
		return head, nil, fmt.Errorf("thread %s: %w", key.Thread, err)
	}
	for after := ""; len(failed) < failedPage; {
		page, err := s.store.Records(ctx, key, recordname.FailedMessages, after, failedPage)
		if err != nil {
			return head, nil, fmt.Errorf("list failed messages of %s: %w", key, err)
		}
		for _, r := range page {
			after = r.Name
			note, err := s.records.DecodeFailed(r.Payload)
			if err != nil {
				return head, nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			if note.List == recordname.FailedList(head.Owner) {
				failed = append(failed, FailedMessage{
					ID: note.Message, ThreadID: key.Thread, To: Recipient{Thread: note.To.Thread, Run: note.To.Run, AgentID: note.To.AgentID},
					Code: note.Code, Tries: note.Tries, FailedAt: note.At,
				})
			}
		}
		if len(page) < failedPage {
			break
		}
	}
	return head, failed[:min(len(failed), failedPage)], nil
}

// ReplayMessages sends the failed messages of a thread again, each with five new tries, and
// returns how many it has sent: at most as many as the outbox has places for. Errors are those
// of FailedMessages and of the store.
func (s *Service) ReplayMessages(ctx context.Context, key core.ThreadKey, user string) (sent int, err error) {
	_, failed, err := s.failedOf(ctx, key, user)
	if err != nil {
		return 0, err
	}
	for _, f := range failed {
		// The message is in the outbox before it leaves the list, so that no crash loses it. If
		// it is sent twice, its receiver knows it.
		head, _, err := s.Commit(ctx, key, thread.Head{}, thread.Send{ID: f.ID, Owner: user}, nil)
		if errors.Is(err, thread.ErrTooManyMessages) {
			return sent, nil
		}
		if err != nil {
			return sent, err
		}
		if err := s.unlist(ctx, key, head, f); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// ClearMessages drops the failed messages of a thread, and returns how many. Errors are those
// of FailedMessages and of the store.
func (s *Service) ClearMessages(ctx context.Context, key core.ThreadKey, user string) (cleared int, err error) {
	head, failed, err := s.failedOf(ctx, key, user)
	if err != nil {
		return 0, err
	}
	for _, f := range failed {
		if err := s.unlist(ctx, key, head, f); err != nil {
			return cleared, err
		}
		cleared++
	}
	return cleared, nil
}

// unlist takes a message from the list of failed ones, as of a head that was read since it
// failed. If it fails once more after that head, it stays listed: the later record wins.
func (s *Service) unlist(ctx context.Context, key core.ThreadKey, head thread.Head, f FailedMessage) error {
	record, err := f.listed(s.records, head, recordname.ClearedList(head.Owner))
	if err != nil {
		return err
	}
	record.Expires = s.env.Millis()/1000 + int64(clearedFor/time.Second)
	if err := s.store.Put(ctx, key, record); err != nil {
		return fmt.Errorf("take message %s from the list: %w", f.ID, err)
	}
	return nil
}

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

// MessageCode is the code of an error of a message, for the model that sends it. refused means
// that Send has refused the message, so that no later try can send it.
//
//	recipient_not_found     its thread does not exist, or belongs to another user
//	recipient_unavailable   its thread is deleted or damaged, its run is over, or no agent could read it
//	outbox_full             see thread.ErrTooManyMessages
//	recipient_full          its inbox, its queue, or a limit of the tenant had no place
//	message_lost            its record cannot be read
//	delivery_failed         anything else; the log has the errors
func MessageCode(err error) (code string, refused bool) {
	code = messageCode(err)
	switch code {
	case codeNotFound, codeUnavailable, codeOutboxFull:
		return code, true
	}
	return code, false
}

// The codes of [MessageCode].
const (
	codeNotFound       = "recipient_not_found"
	codeUnavailable    = "recipient_unavailable"
	codeRecipientFull  = "recipient_full"
	codeMessageLost    = "message_lost"
	codeOutboxFull     = "outbox_full"
	codeDeliveryFailed = "delivery_failed"
)

func messageCode(err error) string {
	switch {
	case errors.Is(err, errRecipientNotFound):
		return codeNotFound
	case errors.Is(err, errRecipientUnavailable):
		return codeUnavailable
	case errors.Is(err, thread.ErrTooManyMessages):
		return codeOutboxFull
	}
	switch core.CodeOf(err) {
	case core.CodeFull, core.CodeTenantLimit, core.CodeTenantSpend:
		return codeRecipientFull
	case core.CodeCorrupt:
		return codeMessageLost
	}
	return codeDeliveryFailed
}

// failedPage is how many failed messages of a thread are read at once, and replayed or cleared.
const failedPage = 100

// clearedFor is how long a store keeps the note of a message that is no longer listed.
const clearedFor = 24 * time.Hour

// noteOf is the record of a failed message, as of a head, in the list that the message names. A
// record of a later head replaces it, and one of an earlier head does not: the order of two
// writers decides whether a message is listed that fails once more while it is sent again.
func noteOf(records thread.Records, head thread.Head, f thread.FailedMessage) (store.Record, error) {
	payload, err := records.EncodeFailed(&f)
	return store.Record{Name: recordname.Failed(f.Message), Fence: head.Fence, Version: head.Version, Payload: payload}, err
}

// FailedMessages returns the messages of a thread that were given up and not cleared, in the
// order of their ids, at most 100. thread.ErrNotFound, thread.ErrForbidden and
// thread.ErrDeleted are those of the thread.
func (s *Service) FailedMessages(ctx context.Context, key core.ThreadKey, user string) ([]thread.FailedMessage, error) {
	_, failed, err := s.reads.failed(ctx, key, user)
	return failed, err
}

// failed is [Service.FailedMessages], with the head that it has read before.
func (r reader) failed(ctx context.Context, key core.ThreadKey, user string) (head thread.Head, failed []thread.FailedMessage, err error) {
	if head, err = r.head(ctx, key); err != nil {
		return head, nil, err
	}
	err = checkAccess(head, user)
	if err == nil && !head.Exists() {
		err = thread.ErrNotFound
	}
	if err != nil {
		return head, nil, fmt.Errorf("thread %s: %w", key.Thread, err)
	}
	// Records in another list are passed over, so that several reads may be needed.
	for after := ""; len(failed) < failedPage; {
		page, err := r.store.Records(ctx, key, recordname.FailedMessages, after, failedPage)
		if err != nil {
			return head, nil, fmt.Errorf("list failed messages of %s: %w", key, err)
		}
		for _, record := range page {
			after = record.Name
			note, err := r.records.DecodeFailed(record.Payload)
			if err != nil {
				return head, nil, fmt.Errorf("%s: %w", record.Name, err)
			}
			if note.List == recordname.FailedList(head.Owner) {
				failed = append(failed, note)
			}
		}
		if len(page) < failedPage {
			break
		}
	}
	return head, failed[:min(len(failed), failedPage)], nil
}

// RecoverMessages sends the failed messages of a thread again, each with five new tries, or
// drops them, and returns how many. It sends at most as many as the outbox has places for.
// Errors are those of FailedMessages and of the store.
func (s *Service) RecoverMessages(ctx context.Context, key core.ThreadKey, user string, again bool) (recovered int, err error) {
	head, failed, err := s.reads.failed(ctx, key, user)
	if err != nil {
		return 0, err
	}
	for _, f := range failed {
		if again {
			// The message is in the outbox before it leaves the list, so that no crash loses
			// it. If it is sent twice, its receiver knows it.
			head, _, err = s.Commit(ctx, key, thread.Head{}, thread.Send{ID: f.Message, Owner: user}, nil)
			if errors.Is(err, thread.ErrTooManyMessages) {
				return recovered, nil
			}
			if err != nil {
				return recovered, err
			}
		}
		// As of a head that was read since it failed. If it fails once more after that head, it
		// stays listed: the later record wins.
		f.List = recordname.ClearedList(head.Owner)
		record, err := noteOf(s.records, head, f)
		if err != nil {
			return recovered, err
		}
		record.Expires = (s.env.Millis() + clearedFor.Milliseconds()) / 1000
		if err := s.store.Put(ctx, key, record); err != nil {
			return recovered, fmt.Errorf("take message %s from the list: %w", f.Message, err)
		}
		recovered++
	}
	return recovered, nil
}

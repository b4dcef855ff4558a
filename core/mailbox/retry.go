package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Retry submits the input of a dead-lettered run again, as a dispatch of its own, also
// where another run waits for a reply: for a person who has seen to what took the run down. What was said stands in the log
// twice then, as it was said twice. The same run retried again, within the life of
// an idempotency key (48 hours), returns the first receipt.
//
// core.CodeNotFound: the thread does not know the run. core.CodeConflict: it is not
// over, ended otherwise, or its input is lost. Other errors are Submit's.
func (s *Service) Retry(ctx context.Context, key core.ThreadKey, user string, run core.ID) (Receipt, error) {
	head, err := s.Head(ctx, key)
	if err != nil {
		return Receipt{}, err
	}
	if err := checkAccess(head, user); err != nil {
		return Receipt{}, fmt.Errorf("thread %s: %w", key.Thread, err)
	}
	if status, live := head.RunStatus(run); live {
		return Receipt{}, core.Errorf(core.CodeConflict, "run %s is not over (%s), only a dead-lettered run can be retried", run, status)
	}
	record, ok, err := s.runRecord(ctx, key, run)
	switch {
	case err != nil:
		return Receipt{}, err
	case !ok:
		return Receipt{}, fmt.Errorf("run %s: %w", run, thread.ErrNotFound)
	case !thread.ReasonDeadLetter.Is(record.Termination):
		return Receipt{}, core.Errorf(core.CodeConflict, "run %s did not end as a dead letter, only such a run can be retried", run)
	}
	messages, err := s.ownInput(ctx, key, head, record)
	if err != nil {
		return Receipt{}, err
	}
	receipt, _, err := s.submit(ctx, submission{apart: true, Submission: Submission{
		Thread: key, User: user, Messages: messages, Origin: record.Origin,
		Key:     Key{Value: "retry:" + run.String()},
		Opening: Opening{AgentID: record.AgentID, Request: record.Request, Frontend: record.Frontend},
	}})
	return receipt, err
}

// ownInput is what a run that is over was started with, from the log: a run stores its
// input with its first commit, or with its end. The messages get new ids.
func (s *Service) ownInput(ctx context.Context, key core.ThreadKey, head thread.Head, record thread.RunRecord) (messages []core.Message, err error) {
	if first := record.FirstSeq; first != 0 {
		for entry, err := range store.Entries(ctx, s.store, s.records, key, first, head.Seq) {
			if err != nil {
				return nil, err
			}
			if entry.Superseded != nil && entry.Run == record.ID {
				continue // it comes before the input
			}
			if entry.Run != record.ID || entry.Input != record.Dispatch || entry.Message == nil {
				break
			}
			messages = append(messages, core.Message{Role: entry.Message.Role, Content: entry.Message.Content})
		}
	}
	if len(messages) == 0 {
		return nil, core.Errorf(core.CodeConflict, "the input of run %s is lost", record.ID)
	}
	return messages, nil
}

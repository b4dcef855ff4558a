package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// Retry submits the input of a dead-lettered run again, as a separate dispatch, also if another
// run waits for a reply. It is for a person who has fixed what made the run fail.
// The log has the input twice then, as it was submitted twice. Retrying the same run again,
// within the life of an idempotency key (48 hours), returns the first receipt.
//
// core.CodeNotFound: the thread does not know the run. core.CodeConflict: it is not over,
// ended otherwise, or its input is lost. Other errors are Submit's.
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
	record, ok, err := s.reads.runRecord(ctx, key, run)
	switch {
	case err != nil:
		return Receipt{}, err
	case !ok:
		return Receipt{}, fmt.Errorf("run %s: %w", run, thread.ErrNotFound)
	case !thread.ReasonDeadLetter.Is(record.Termination):
		return Receipt{}, core.Errorf(core.CodeConflict, "run %s did not end as a dead letter, only such a run can be retried", run)
	}
	messages, err := s.reads.openingInput(ctx, key, head, record)
	if err != nil {
		return Receipt{}, err
	}
	receipt, _, err := s.submit(ctx, Submission{
		Thread: key, User: user, Messages: messages, Origin: record.Origin,
		Key:     Key{Value: "retry:" + run.String()},
		Opening: Opening{AgentID: record.AgentID, Request: record.Request, Frontend: record.Frontend},
	}, placing{apart: true})
	return receipt, err
}

// openingInput reads from the log the input that a run was started with: a run stores it
// with its first commit, or with its end. The messages get new ids.
// core.CodeConflict: the log does not have it.
func (r reader) openingInput(ctx context.Context, key core.ThreadKey, head thread.Head, record thread.RunRecord) (messages []core.Message, err error) {
	if first := record.FirstSeq; first != 0 {
		for entry, err := range threadlog.Entries(ctx, r.store, r.records, key, first, head.Seq) {
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

package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A run that ends cancels the child runs that it has left, to any depth: each of them leaves
// its own children a cancel when it closes. The entry of the outbox has an id alone; its record
// has the runs, and the record before it, if that was not delivered yet.

// cancelChildren cancels the runs that an entry of a thread's outbox names. nil: each is over, or
// will be. Every run is tried, also after one that could not be reached.
func cancelChildren(ctx context.Context, s *Service, key core.ThreadKey, entry core.ID) error {
	var failed error
	for !entry.IsZero() {
		record, ok, err := s.store.Get(ctx, key, recordname.Outbox(entry))
		if err != nil {
			return errors.Join(failed, fmt.Errorf("read what the thread owes its children: %w", err))
		}
		var owed thread.OutboxRecord
		if ok {
			owed, err = s.records.DecodeOutbox(record.Payload)
		}
		switch {
		case core.CodeOf(err) == core.CodeSchema:
			return errors.Join(failed, err)
		case err != nil || !ok: // no later try can read it
			s.log.ErrorContext(ctx, "children of an ended run unknown, they continue", "tenant", key.Tenant, "thread", key.Thread, "entry", entry, "error", err)
			return failed
		}
		for _, to := range owed.To {
			if to.Kind == thread.TargetRun {
				failed = errors.Join(failed, cancelChild(ctx, s, key.Tenant, to.Run))
			}
		}
		entry = owed.Before
	}
	return failed
}

// cancelChild cancels a child run unless it is over or continues after its parent. A run that
// was listed and is not enqueued yet finds out at its first claim that its parent is over.
func cancelChild(ctx context.Context, s *Service, tenant string, run core.ID) error {
	key, dispatch, ok, err := s.reads.locate(ctx, tenant, run)
	if err != nil || !ok {
		return err
	}
	head, err := s.Head(ctx, key)
	switch status, live := head.RunStatus(run); {
	case err != nil:
	case head.Deleted, !live, status == core.RunDone:
		return nil
	default:
		var child thread.RunRecord
		child, _, _, err = s.reads.find(ctx, key, head, run, dispatch)
		if err == nil && child.Parent != nil && child.Parent.Detached {
			return nil
		}
		if err == nil || core.CodeOf(err) == core.CodeCorrupt { // it ends all the same
			_, err = s.Cancel(ctx, key, run)
		}
	}
	switch {
	case err == nil, errors.Is(err, thread.ErrNotFound), errors.Is(err, thread.ErrDeleted):
		return nil
	case core.CodeOf(err) == core.CodeCorrupt: // its thread is set aside, and runs nothing
		s.log.WarnContext(ctx, "child run of an ended run cannot be read", "tenant", tenant, "thread", key.Thread, "run", run, "error", err)
		return nil
	}
	return fmt.Errorf("cancel child run %s: %w", run, err)
}

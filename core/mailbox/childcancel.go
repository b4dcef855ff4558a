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

// mostBelow is how many runs CountBelow counts at most: each takes three reads.
const mostBelow = 64

// CountBelow counts the runs that end with a run, at most 64 below it: those that it has started
// and that are not over, and those below them. It counts no detached run, which continues, and
// none that cannot be read. Once the run is cancelled it has no list, so that the count is to be
// made before.
func CountBelow(ctx context.Context, s *Service, key core.ThreadKey, run core.ID) int {
	left := mostBelow
	s.reads.countBelow(ctx, key, run, core.MaxDepth, &left)
	return mostBelow - left
}

// countBelow takes the runs below a run from the places that are left.
func (r reader) countBelow(ctx context.Context, key core.ThreadKey, run core.ID, depth int, left *int) {
	head, err := r.head(ctx, key)
	if err != nil || head.Run.ID != run || depth == 0 {
		return
	}
	for _, child := range head.Run.Children {
		if *left == 0 {
			return
		}
		at, ends, err := r.endsWithParent(ctx, key.Tenant, child)
		if err == nil && ends {
			*left--
			r.countBelow(ctx, at, child, depth-1, left)
		}
	}
}

// endsWithParent reports whether a child run is not over, and is cancelled when its parent ends.
func (r reader) endsWithParent(ctx context.Context, tenant string, run core.ID) (key core.ThreadKey, ends bool, err error) {
	key, dispatch, ok, err := r.locate(ctx, tenant, run)
	if err != nil || !ok {
		return key, false, err
	}
	head, err := r.head(ctx, key)
	if _, live := head.RunStatus(run); err != nil || head.Deleted || !live {
		return key, false, err
	}
	child, _, _, err := r.find(ctx, key, head, run, dispatch)
	return key, err == nil && (child.Parent == nil || !child.Parent.Detached), err
}

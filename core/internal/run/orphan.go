package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// checkParent ends a child run that starts after the run that has started it is over, or after
// the call that waits for it has its result: whatever ended the parent could not reach a child
// that was not enqueued yet. It costs one read, in the first step of a child.
func checkParent(ctx context.Context, h *holder, parent *thread.Parent) error {
	if parent == nil || !parent.Listed || parent.Detached || !h.s.choices.Acts() {
		return nil
	}
	key := core.ThreadKey{Tenant: h.Key.Tenant, Thread: parent.Thread}
	head, err := h.s.committer.Head(ctx, key)
	switch {
	case errors.Is(err, thread.ErrDeleted):
	case core.CodeOf(err) == core.CodeSchema:
		return nil // a newer program has the parent, and cancels what it leaves
	case core.CodeOf(err) == core.CodeCorrupt:
		// The damage is the parent's, and not of this thread. If an operator mends it, the call
		// still waits.
		h.warn(ctx, "parent of a child run cannot be read", "parent_thread", parent.Thread, "parent_run", parent.Run, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("read the parent of child run %s: %w", h.id, err)
	case awaits(&head, parent, h.id):
		return nil
	}
	h.warn(ctx, "child run cancelled, its parent is over", "parent_thread", parent.Thread, "parent_run", parent.Run)
	if h.head, _, err = h.s.committer.Commit(ctx, h.Key, h.head, thread.Cancel{Run: h.id}, nil); err != nil {
		return err
	}
	return thread.ErrClosing
}

// awaits reports whether the run that started a child is open and still interested in it.
func awaits(head *thread.Head, parent *thread.Parent, child core.ID) bool {
	if head.Run.ID != parent.Run || head.Run.Status == thread.Closing || !slices.Contains(head.Run.Children, child) {
		return false
	}
	return parent.Call == thread.NoCall || head.Run.Awaits(parent.Call)
}

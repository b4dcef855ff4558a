package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Children decides, when a thread is deleted, what happens to its child threads: those whose
// last run one of its calls has started.
type Children string

// The treatments of child threads.
const (
	ChildrenDetach  Children = "detach"  // they stay; the default
	ChildrenCascade Children = "cascade" // they are deleted too, with theirs
	ChildrenReject  Children = "reject"  // core.CodeConflict when there is one
)

// Check refuses any other value; empty is the default.
func (c Children) Check() error {
	switch c {
	case "", ChildrenDetach, ChildrenCascade, ChildrenReject:
		return nil
	}
	return core.Errorf(core.CodeInvalid, "child_strategy %q is unknown, allowed are detach, cascade, reject", core.Excerpt(string(c)))
}

// childPage is how many child threads are listed at once.
const childPage = 100

// DeleteWith is Delete with a treatment of child threads. Children are deleted first, so that
// the same call again completes a call that failed; children that the thread starts during the
// call are deleted after it. The thread's children are read from a list, which may lag a
// moment.
func (s *Service) DeleteWith(ctx context.Context, key core.ThreadKey, user string, children Children) error {
	if err := children.Check(); err != nil {
		return err
	}
	if children == "" || children == ChildrenDetach {
		return s.Delete(ctx, key, user)
	}
	head, err := s.Head(ctx, key)
	if err == nil {
		err = checkAccess(head, user)
	}
	if err != nil && !errors.Is(err, thread.ErrDeleted) {
		return fmt.Errorf("thread %s: %w", key.Thread, err)
	}
	if children == ChildrenReject {
		child, err := s.firstChild(ctx, key, user)
		if err != nil {
			return err
		}
		if child != "" {
			return core.Errorf(core.CodeConflict, "thread %s has the child thread %s; child_strategy cascade deletes it too, detach lets it stay", key.Thread, child)
		}
		return s.Delete(ctx, key, user)
	}
	return s.deleteTree(ctx, key, user, map[string]bool{key.Thread: true})
}

// deleteTree deletes a thread after its children.
func (s *Service) deleteTree(ctx context.Context, key core.ThreadKey, user string, seen map[string]bool) error {
	below := func() error {
		return s.eachChild(ctx, key, user, func(child string) (bool, error) {
			if seen[child] {
				return true, nil
			}
			seen[child] = true
			return true, s.deleteTree(ctx, core.ThreadKey{Tenant: key.Tenant, Thread: child}, user, seen)
		})
	}
	if err := below(); err != nil {
		return err
	}
	if err := s.Delete(ctx, key, user); err != nil {
		return err
	}
	return below()
}

// firstChild returns a child thread; empty: the thread has none.
func (s *Service) firstChild(ctx context.Context, key core.ThreadKey, user string) (first string, err error) {
	err = s.eachChild(ctx, key, user, func(child string) (bool, error) {
		first = child
		return false, nil
	})
	return first, err
}

// eachChild calls f with each child thread that is there and that the user may delete,
// until it returns false.
func (s *Service) eachChild(ctx context.Context, key core.ThreadKey, user string, f func(child string) (more bool, err error)) error {
	var before *store.Place
	for {
		page, err := s.store.Listed(ctx, key.Tenant, recordname.ChildrenList(key.Thread), before, childPage)
		if err != nil {
			return fmt.Errorf("list child threads of %s: %w", key.Thread, err)
		}
		for _, l := range page {
			head, err := s.Head(ctx, core.ThreadKey{Tenant: key.Tenant, Thread: l.Thread})
			if err != nil {
				return err
			}
			if !head.Exists() || checkAccess(head, user) != nil {
				continue
			}
			if more, err := f(l.Thread); err != nil || !more {
				return err
			}
		}
		if len(page) < childPage {
			return nil
		}
		before = &page[len(page)-1].Place
	}
}

package host

import (
	"context"
	"log/slog"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// reader reads stored records on behalf of callers.
type reader struct {
	env     *env.Env
	log     *slog.Logger
	store   store.Backend
	records thread.Records
	mailbox *mailbox.Service
	local   bool // all threads are one program's own: see tenantOf
}

// visible reads a thread's head on behalf of a caller. A thread of another user looks
// like one that does not exist, in the same words, so that no caller learns which ids
// are taken. It is the one place where a read is refused, but for lists, which omit
// what is not readable: every read starts here, and every write is refused by the mailbox.
func (r *reader) visible(ctx context.Context, id core.Identity, threadID string) (core.ThreadKey, thread.Head, error) {
	key := core.ThreadKey{Tenant: r.tenantOf(id), Thread: threadID}
	if err := key.Check(); err != nil {
		return key, thread.Head{}, err
	}
	head, err := r.mailbox.Head(ctx, key)
	switch {
	case err != nil:
		return key, head, err
	case !head.Exists() || !readable(id, head):
		return key, head, core.Errorf(core.CodeNotFound, "thread %s not found", threadID)
	case head.Deleted:
		return key, head, core.Errorf(core.CodeDeleted, "thread %s was deleted", threadID)
	}
	return key, head, nil
}

// readable reports whether a user may read a thread of the user's tenant: one without an
// owner, or the user's own.
func readable(id core.Identity, head thread.Head) bool {
	return head.Owner == "" || head.Owner == id.User
}

// tenantOf returns an identity's tenant. In memory an identity without one is
// of [LocalTenant], as in [Host.Play]. A host's callers must have one: with a
// default, a forgotten check would let them read the default tenant's threads.
func (r *reader) tenantOf(id core.Identity) string {
	if id.Tenant == "" && r.local {
		return LocalTenant
	}
	return id.Tenant
}

// locate finds a run on behalf of a caller: by its pointer, which is stored before the
// run, and then as visible does. The dispatch is the one that the pointer names; with it
// the mailbox reads a run that has no record yet.
func (r *reader) locate(ctx context.Context, id core.Identity, runID core.ID) (core.ThreadKey, core.ID, thread.Head, error) {
	key, dispatch, ok, err := r.mailbox.Locate(ctx, r.tenantOf(id), runID)
	if err != nil {
		return key, dispatch, thread.Head{}, err
	}
	if !ok {
		return key, dispatch, thread.Head{}, core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	_, head, err := r.visible(ctx, id, key.Thread)
	if core.CodeOf(err) == core.CodeNotFound {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	return key, dispatch, head, err
}

// hidden makes a thread or run of another user look like one that does not exist, for
// writes. The mailbox checks the owner in the write itself: a check before it could be
// outdated by the write that gives the thread an owner. Reads start with visible.
func hidden(err error, what, name string) error {
	if core.CodeOf(err) == core.CodeForbidden {
		return core.Errorf(core.CodeNotFound, "%s %s not found", what, name)
	}
	return err
}

// runRecord reads a run as [Host.ReadRun] does, without its tickets. The head was read
// before the record: what the record has, the head vouches for or will soon.
func (r *reader) runRecord(ctx context.Context, id core.Identity, runID core.ID) (core.ThreadKey, thread.Head, core.Run, error) {
	key, dispatch, head, err := r.locate(ctx, id, runID)
	if err != nil {
		return key, head, core.Run{}, err
	}
	record, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	return key, head, record, err
}

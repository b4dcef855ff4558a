package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// visible reads a thread on somebody's behalf. A thread of another user is
// like one that does not exist, in the same words, so that nobody learns which ids
// are taken. It is the one place where a read is refused, but for lists, which leave
// out what is not readable: every read begins here, or in the mailbox for what it
// writes.
func (r *Runtime) visible(ctx context.Context, id core.Identity, threadID string) (core.ThreadKey, thread.Head, error) {
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

// readable reports whether a thread of the identity's tenant is for its user to read:
// one that belongs to nobody, or to that user.
func readable(id core.Identity, head thread.Head) bool {
	return head.Owner == "" || head.Owner == id.User
}

// tenantOf is the tenant that an identity is of. Where everything is one program's own,
// none is [LocalTenant], as [Runtime.RunInput] has it; a host's callers must have one,
// since a check that was forgotten would let them read somebody's.
func (r *Runtime) tenantOf(id core.Identity) string {
	if id.Tenant == "" && r.solo != nil {
		return LocalTenant
	}
	return id.Tenant
}

// locate finds a run on somebody's behalf: by its pointer, which is there before the
// run is, and then as visible does. The dispatch is the one that the pointer names,
// with which the mailbox reads a run that has no record yet.
func (r *Runtime) locate(ctx context.Context, id core.Identity, runID core.ID) (core.ThreadKey, core.ID, thread.Head, error) {
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

// hidden makes what belongs to another user look like what does not exist, for
// writes: the mailbox checks the owner in the write itself, where no thread can
// change hands in between. Reads begin with visible.
func hidden(err error, what, name string) error {
	if core.CodeOf(err) == core.CodeForbidden {
		return core.Errorf(core.CodeNotFound, "%s %s not found", what, name)
	}
	return err
}

// runRecord reads a run as Runtime.ReadRun does, without what it waits for.
func (r *Runtime) runRecord(ctx context.Context, id core.Identity, runID core.ID) (core.ThreadKey, thread.Head, core.Run, error) {
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

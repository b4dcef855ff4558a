package runtime

import (
	"context"
	"fmt"

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

// Thread reads how a thread stands. What runs is of its head alone: the run's record
// would be another read, and may be a moment older. A run that closes is over for
// whoever asks, since nothing can be steered to it any more; so it is not active.
func (r *Runtime) Thread(ctx context.Context, id core.Identity, threadID string) (ThreadInfo, error) {
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return ThreadInfo{}, err
	}
	return r.info(ctx, key, head)
}

// ReadRun reads a run as it stands, with what it waits for. Head and record are two
// reads: the head is the older one, and where they differ it decides.
func (r *Runtime) ReadRun(ctx context.Context, id core.Identity, runID core.ID) (core.Run, error) {
	key, dispatch, head, err := r.locate(ctx, id, runID)
	if err != nil {
		return core.Run{}, err
	}
	record, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	if err == nil && head.Open() && head.Run.ID == runID {
		record.Tickets, err = r.mailbox.Tickets(ctx, key, head)
	}
	if err != nil {
		return core.Run{}, err
	}
	return record, nil
}

// CancelRun ends an open or queued run; core.CodeNotFound when it is neither. It
// returns when the cancel is durable in the head, which nothing can take back. The
// step that works on the run stops at once where it is this process's, else within its
// Poll, and closes the run; where nobody works on it, the hint that the write sends brings somebody to close
// it. A queued run ends with the write itself.
func (r *Runtime) CancelRun(ctx context.Context, id core.Identity, runID core.ID) error {
	key, _, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	_, err = r.mailbox.Cancel(ctx, key, runID)
	return err
}

// CancelThread ends the thread's open run, or the first queued one, and returns
// which; core.CodeNotFound when there is none.
func (r *Runtime) CancelThread(ctx context.Context, id core.Identity, threadID string) (core.ID, error) {
	key, _, err := r.visible(ctx, id, threadID)
	if err != nil {
		return core.ID{}, fmt.Errorf("cancel: %w", err)
	}
	return r.mailbox.Cancel(ctx, key, core.ID{})
}

// EditInput replaces input that no step has read, by the dispatch id of its
// receipt; core.CodeNotFound when it was read, or never submitted. An edit and the
// step that reads the input race for the head: the step that loses reads the new
// text, the edit that loses is not_found, and no input is half of each.
func (r *Runtime) EditInput(ctx context.Context, id core.Identity, threadID string, input core.ID, messages []core.Message) error {
	key, _, err := r.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return r.mailbox.Edit(ctx, key, input, messages)
}

// RunOfKey finds a run by the Key that its input was submitted under, for clients that
// name their runs; ok is false when the thread knows of none.
func (r *Runtime) RunOfKey(ctx context.Context, id core.Identity, threadID, name string) (run core.ID, ok bool, err error) {
	key, head, err := r.visible(ctx, id, threadID)
	if core.CodeOf(err) == core.CodeNotFound {
		return run, false, nil
	}
	if err != nil {
		return run, false, err
	}
	return r.mailbox.Submitted(ctx, key, head, name)
}

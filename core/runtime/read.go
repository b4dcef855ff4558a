package runtime

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// open reads a thread on somebody's behalf. A thread of another user is
// like one that does not exist, in the same words, so that nobody learns which ids
// are taken. It is the one place where a read is refused: every read begins here,
// or in the mailbox for what it writes.
func (r *Runtime) open(ctx context.Context, id core.Identity, threadID string) (core.ThreadKey, thread.Head, error) {
	key := core.ThreadKey{Tenant: id.Tenant, Thread: threadID}
	if err := key.Check(); err != nil {
		return key, thread.Head{}, err
	}
	head, err := r.mailbox.Head(ctx, key)
	switch {
	case err != nil:
		return key, head, err
	case !head.Exists() || head.Owner != "" && head.Owner != id.User:
		return key, head, core.Errorf(core.CodeNotFound, "thread %s not found", threadID)
	case head.Deleted:
		return key, head, core.Errorf(core.CodeDeleted, "thread %s was deleted", threadID)
	}
	return key, head, nil
}

// locate finds a run on somebody's behalf: by its pointer, which is there before the
// run is, and then as open does. The dispatch is the one that the pointer names,
// with which the mailbox reads a run that has no record yet.
func (r *Runtime) locate(ctx context.Context, id core.Identity, runID core.ID) (core.ThreadKey, core.ID, thread.Head, error) {
	key, dispatch, ok, err := r.mailbox.Locate(ctx, id.Tenant, runID)
	if err != nil {
		return key, dispatch, thread.Head{}, err
	}
	if !ok {
		return key, dispatch, thread.Head{}, core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	_, head, err := r.open(ctx, id, key.Thread)
	if core.CodeOf(err) == core.CodeNotFound {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	return key, dispatch, head, err
}

// Thread reads what a thread is doing, from its head alone.
func (r *Runtime) Thread(ctx context.Context, id core.Identity, threadID string) (ThreadInfo, error) {
	_, head, err := r.open(ctx, id, threadID)
	if err != nil {
		return ThreadInfo{}, err
	}
	info := ThreadInfo{ID: threadID, Owner: head.Owner, Queued: len(head.Pending), Messages: int(head.Seq)}
	if status, ok := head.RunStatus(head.Run.ID); ok && head.Open() && status != core.RunDone {
		info.ActiveRun, info.Status = head.Run.ID, status
	}
	return info, nil
}

// Run reads a run as it stands, with what it waits for. Head and record are two
// reads: the head is the older one, and where they differ it decides.
func (r *Runtime) Run(ctx context.Context, id core.Identity, runID core.ID) (core.Run, error) {
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

// CancelRun ends an open or queued run; core.CodeNotFound when it is neither.
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
	key, _, err := r.open(ctx, id, threadID)
	if err != nil {
		return core.ID{}, fmt.Errorf("cancel: %w", err)
	}
	return r.mailbox.Cancel(ctx, key, core.ID{})
}

// EditInput replaces input that no step has read, by the dispatch id of its
// receipt; core.CodeNotFound when it was read, or never submitted.
func (r *Runtime) EditInput(ctx context.Context, id core.Identity, threadID string, input core.ID, messages []core.Message) error {
	key, _, err := r.open(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return r.mailbox.Edit(ctx, key, input, messages)
}

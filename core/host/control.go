package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Actions on threads and runs, other than new input. Every method first checks
// that the caller may read the thread (visible, locate); the mailbox checks the owner again
// in the write, where the thread cannot change hands in between.

// RetractInput withdraws input that no step has read, by the dispatch id of its receipt:
// an entry of an inbox, or a queued run. Its error is core.CodeNotFound if the input was
// read, has ended, or was never submitted. It races with the step that reads the input as
// [Host.EditInput] does.
func (r *Host) RetractInput(ctx context.Context, id core.Identity, threadID string, input core.ID) error {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("retract: %w", err)
	}
	return r.mailbox.Retract(ctx, key, input)
}

// InterruptThread ends all runs that are open or queued on a thread: see
// mailbox.Service.Interrupt. key makes it idempotent; empty: every call is a new
// interrupt. It returns when the interrupt is durable. A step of this process then stops
// immediately, one of another process within its Options.Poll.
func (r *Host) InterruptThread(ctx context.Context, id core.Identity, threadID, key string) (mailbox.Receipt, error) {
	at, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Receipt{}, fmt.Errorf("interrupt: %w", err)
	}
	return r.mailbox.Interrupt(ctx, at, id.User, key)
}

// RetryRun submits the input of a dead-lettered run again: see mailbox.Service.Retry,
// whose errors it returns.
func (r *Host) RetryRun(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	return r.mailbox.Retry(ctx, key, id.User, runID)
}

// DeleteThread permanently makes a thread a tombstone: from then on its id and the ids of
// its runs are core.CodeDeleted. The sweep erases its records; a process whose queue is its
// own erases them before DeleteThread returns. children decides what happens to its child
// threads; empty: mailbox.ChildrenDetach. See mailbox.Service.DeleteWith.
func (r *Host) DeleteThread(ctx context.Context, id core.Identity, threadID string, children mailbox.Children) error {
	if err := children.Check(); err != nil {
		return err
	}
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if err := r.mailbox.DeleteWith(ctx, key, id.User, children); err != nil || r.queue == nil {
		return err
	}
	r.worker.eraseNow(ctx, r.queue, key)
	return nil
}

// CancelRun ends an open or queued run; its error is core.CodeNotFound if the run is
// neither. It returns when the cancel is durable in the head; a cancel cannot be undone.
// The step that works on the run closes it: immediately if it is of this process, else
// within its Options.Poll. If no step does, the hint that the write sends brings a worker
// that closes it. A queued run ends with the write itself.
func (r *Host) CancelRun(ctx context.Context, id core.Identity, runID core.ID) error {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	_, err = r.mailbox.Cancel(ctx, key, runID)
	return err
}

// CancelThread ends the thread's open run, or else the first queued one, and returns its
// id; its error is core.CodeNotFound if there is neither.
func (r *Host) CancelThread(ctx context.Context, id core.Identity, threadID string) (core.ID, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return core.ID{}, fmt.Errorf("cancel: %w", err)
	}
	return r.mailbox.Cancel(ctx, key, core.ID{})
}

// EditInput replaces input that no step has read, by the dispatch id of its receipt. Its
// error is core.CodeNotFound if the input was read or was never submitted. An edit and the
// step that reads the input race for the head: a step that loses reads the new text, an
// edit that loses is core.CodeNotFound, and no input is partly old and partly new.
func (r *Host) EditInput(ctx context.Context, id core.Identity, threadID string, input core.ID, messages []core.Message) error {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return r.mailbox.Edit(ctx, key, input, messages)
}

// TakeUp continues a run that ended with an error in a new run, in the background; see
// mailbox.Service.TakeUp.
func (r *Host) TakeUp(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.mailbox.TakeUp(ctx, key, id.User, runID)
	return receipt, hidden(err, "run", runID.String())
}

// Fork creates the thread to from another, up to and including the message at; see
// mailbox.Service.Fork.
func (r *Host) Fork(ctx context.Context, id core.Identity, threadID, at, to string) (mailbox.Forked, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Forked{}, err
	}
	made, err := r.mailbox.Fork(ctx, mailbox.Forking{Thread: key, User: id.User, At: at, To: to})
	return made, hidden(err, "thread", to)
}

package runtime

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// What a person does with a thread beside talking to it. Every method begins with the
// check that the thread is the caller's (visible, locate), and the mailbox checks the
// owner again in the write, where it counts.

// RetractInput takes back input that no step has read, by the dispatch id of its
// receipt: an entry of an inbox, or a queued run. core.CodeNotFound when it was read or
// has ended, or was never submitted. It races with the step that reads it as
// [Runtime.EditInput] does.
func (r *Runtime) RetractInput(ctx context.Context, id core.Identity, threadID string, input core.ID) error {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("retract: %w", err)
	}
	return r.mailbox.Retract(ctx, key, input)
}

// InterruptThread ends everything that is open or queued on a thread, and puts nothing
// in its place: see mailbox.Service.Interrupt. key makes it idempotent; empty: every
// call is a new one. It returns when the interrupt is durable. A step of this process
// stops at once, one of another within Config.Poll.
func (r *Runtime) InterruptThread(ctx context.Context, id core.Identity, threadID, key string) (mailbox.Interrupted, error) {
	at, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Interrupted{}, fmt.Errorf("interrupt: %w", err)
	}
	return r.mailbox.Interrupt(ctx, at, id.User, key)
}

// RetryRun submits the input of a dead-lettered run again: see mailbox.Service.Retry.
func (r *Runtime) RetryRun(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	return r.mailbox.Retry(ctx, key, id.User, runID)
}

// DeleteThread makes a thread a tombstone, whose id and run ids are core.CodeDeleted
// from then on, for good; what it had is erased by the sweep. What becomes of its child
// threads is said, empty means mailbox.ChildrenDetach: see mailbox.Service.DeleteWith.
func (r *Runtime) DeleteThread(ctx context.Context, id core.Identity, threadID string, children mailbox.Children) error {
	if err := children.Check(); err != nil {
		return err
	}
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return r.mailbox.DeleteWith(ctx, key, id.User, children)
}

// CancelRun ends an open or queued run; core.CodeNotFound when it is neither. It
// returns when the cancel is durable in the head, which nothing can take back. The
// step that works on the run stops at once where it is this process's, else within its
// Poll, and closes the run; where nobody works on it, the hint that the write sends brings somebody to close
// it. A queued run ends with the write itself.
func (r *Runtime) CancelRun(ctx context.Context, id core.Identity, runID core.ID) error {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	_, err = r.mailbox.Cancel(ctx, key, runID)
	return err
}

// CancelThread ends the thread's open run, or the first queued one, and returns
// which; core.CodeNotFound when there is none.
func (r *Runtime) CancelThread(ctx context.Context, id core.Identity, threadID string) (core.ID, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
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
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	return r.mailbox.Edit(ctx, key, input, messages)
}

// TakeUp goes on with a run that ended with an error, as a run of its own in the
// background; see mailbox.Service.TakeUp.
func (r *Runtime) TakeUp(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.reads.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := r.mailbox.TakeUp(ctx, key, id.User, runID)
	return receipt, hidden(err, "run", runID.String())
}

// Fork makes the thread to of another, up to the message at; see mailbox.Service.Fork.
func (r *Runtime) Fork(ctx context.Context, id core.Identity, threadID, at, to string) (mailbox.Forked, error) {
	key, _, err := r.reads.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Forked{}, err
	}
	made, err := r.mailbox.Fork(ctx, mailbox.Forking{Thread: key, User: id.User, At: at, To: to})
	return made, hidden(err, "thread", to)
}

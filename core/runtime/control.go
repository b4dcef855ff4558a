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

// ActiveRun reads the thread's open run, with what it waits for; ok is false when none
// is open, or when it is ending.
func (r *Runtime) ActiveRun(ctx context.Context, id core.Identity, threadID string) (record core.Run, ok bool, err error) {
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return record, false, err
	}
	if status, open := head.RunStatus(head.Run.ID); !open || !head.Open() || status == core.RunDone {
		return record, false, nil
	}
	if record, ok, err = r.mailbox.Run(ctx, key, head, head.Run.ID, head.Run.Dispatch); err == nil && ok {
		record.Tickets, err = r.mailbox.Tickets(ctx, key, head)
	}
	return record, ok && err == nil, err
}

// Mailbox reads a page of what is open, queued and over on a thread: see
// mailbox.Service.List.
func (r *Runtime) Mailbox(ctx context.Context, id core.Identity, threadID string, q mailbox.ListQuery) (mailbox.ListPage, error) {
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.ListPage{}, err
	}
	return r.mailbox.List(ctx, key, head, q)
}

// SubmitTo submits input for a run: Submission's Thread, User and Into are filled in,
// and AgentID and Mode where they are empty: the run's agent, and mailbox.ModeSteer. An
// open run reads it at its next step, also one that waits; of any other run it becomes
// a run of its own behind what is queued, so that nothing that was said is lost. The
// receipt says which run reads it.
func (r *Runtime) SubmitTo(ctx context.Context, id core.Identity, runID core.ID, s mailbox.Submission) (mailbox.Receipt, error) {
	key, dispatch, head, err := r.locate(ctx, id, runID)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	record, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatch)
	if err == nil && !ok {
		err = core.Errorf(core.CodeNotFound, "run %s not found", runID)
	}
	if err != nil {
		return mailbox.Receipt{}, err
	}
	s.Thread, s.User, s.Into = key, id.User, runID
	if s.AgentID == "" {
		s.AgentID = record.AgentID
	}
	if s.Mode == "" {
		s.Mode = mailbox.ModeSteer
		if s.AvailableAt != 0 || s.Delay != 0 {
			s.Mode = mailbox.ModeQueue
		}
	}
	return r.Submit(ctx, s)
}

// RetractInput takes back input that no step has read, by the dispatch id of its
// receipt: an entry of an inbox, or a queued run. core.CodeNotFound when it was read or
// has ended, or was never submitted. It races with the step that reads it as
// [Runtime.EditInput] does.
func (r *Runtime) RetractInput(ctx context.Context, id core.Identity, threadID string, input core.ID) error {
	key, _, err := r.visible(ctx, id, threadID)
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
	at, _, err := r.visible(ctx, id, threadID)
	if err != nil {
		return mailbox.Interrupted{}, fmt.Errorf("interrupt: %w", err)
	}
	return r.mailbox.Interrupt(ctx, at, id.User, key)
}

// RetryRun submits the input of a dead-lettered run again: see mailbox.Service.Retry.
func (r *Runtime) RetryRun(ctx context.Context, id core.Identity, runID core.ID) (mailbox.Receipt, error) {
	key, _, _, err := r.locate(ctx, id, runID)
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
	key, _, err := r.visible(ctx, id, threadID)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return r.mailbox.DeleteWith(ctx, key, id.User, children)
}

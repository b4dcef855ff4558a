package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The work of a step for the accounts of its run, see package accounting. Most of
// it serves the limits of the run's tenant, and a tenant without limits needs none
// of that:
//
//   - The step starts with a look at the tenant's record, unless this very claim
//     has charged the run in the step before. A run that has no slot, because it
//     has waited, takes one. Over a limit the run ends before its model is called.
//   - It charges its usage before the commit that stores it, which is the one of
//     its turn. A run that thereby exceeds a limit continues with the tools of the
//     turn, which cost no tokens, and ends when the round closes. A run that ends
//     by itself keeps that end. A run that waits continues to wait, and ends before
//     the inference that follows.
//   - Usage for a turn that no log will have, since the run was ended or its claim
//     is released, is charged before the write that ends or releases it, without
//     the slot. If the claim is lost, it is charged when the step finds that out.
//   - It releases the slot after the commit by which the run waits or is over.
//
// If usage is recorded, the write that ends a stretch of the run stores the usage
// of the stretch. The write that releases the run, or starts to close it, stores
// the usage of models for turns that no log has. Both are one settlement of the
// plan.

// endLimit is the code of a run's end that a limit has brought.
const endLimit = string(core.CodeTenantLimit)

// look reads the tenant's account, and takes a slot if the run has none. Its error
// ends a run that is about to call its model while the tenant is over a limit; a
// run with an open round continues with that.
func (m *machine) look(ctx context.Context) error {
	if err := m.holder.account.Begin(ctx, m.draft.totals, m.base.conversation.Standing); err != nil || m.holder.head.Run.Cursor == thread.CursorTools {
		return err
	}
	if end := m.stopped(); end != nil {
		return &ended{*end, m.holder.account.Over()}
	}
	return nil
}

// stopped is the end of a run whose tenant is over a limit; nil: it is not.
func (m *machine) stopped() *core.Termination {
	over := m.holder.account.Over()
	if over == nil {
		return nil
	}
	return &core.Termination{Type: core.TerminationStopped, Code: endLimit, Detail: over.Error()}
}

// charge accounts the turn or the failure that the next commit logs.
func (m *machine) charge(ctx context.Context) (err error) {
	m.draft.totals, err = m.holder.account.Turn(ctx, m.draft.totals, m.unsaid.Spent())
	return err
}

// releaseSlot releases the run's slot, after the write by which it waits or has
// ended. The draft's totals have the log's figures of the run by then.
func (m *machine) releaseSlot(ctx context.Context) {
	if !m.holder.account.Limited() { // as Release does, without a context that would be for nothing
		return
	}
	ctx, cancel := m.holder.undisturbed(ctx)
	defer cancel()
	known := &m.draft.totals
	if m.base.conversation == nil { // what the run has used cannot be read
		known = nil
	}
	if err := m.holder.account.Release(ctx, known); err != nil {
		m.holder.warn(ctx, "slot not released, the sweep will release it", "error", err)
	}
}

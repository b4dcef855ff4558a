package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What a step does for the accounts of its run, see package accounting. Most of it is for the
// limits of its tenant, and nothing of that where there are none:
//
//   - It begins with a look at the tenant's record, unless this very claim has charged the
//     run in the step before. A run that has no slot, because it has waited, takes one. Over
//     a limit the run ends before the model is asked.
//   - It charges what it has used before the commit that says so, which is the one of its
//     turn. A run that comes over a limit by that goes on with the tools of the turn, which
//     cost no tokens, and ends when the round closes. One that ends by itself ends so. One
//     that waits goes on waiting, and ends before the inference that follows.
//   - What its model has used for a turn that no log will have, since the run was ended or
//     its claim is given back, is charged before the write that says so, without the slot;
//     and where its claim is lost, when it finds that out.
//   - It releases the slot after the commit by which the run waits or is over.
//
// Where usage is recorded, the write that ends a stretch of the run stores what the stretch
// has used, and the one that gives the run back, or begins to close it, what models were
// asked for turns that no log has. Both are one settlement of the plan.

// endLimit is the code of a run's end that a limit has brought.
const endLimit = string(core.CodeTenantLimit)

// look finds out how the tenant stands, and takes a slot if the run has none. The error
// ends a run that is to ask its model while the tenant is over a limit; one with an open
// round goes on with that.
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

// releaseSlot releases the run's slot, after the write by which it waits or has ended. What
// the log says of the run by then is in the draft's totals.
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
		m.holder.warn(ctx, "slot is not given back, the sweep will find it", "error", err)
	}
}

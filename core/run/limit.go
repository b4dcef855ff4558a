package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What a step does for the limits of its tenant; nothing of it where there are none. See
// package account.
//
//   - It begins with a look at the tenant's record, unless this very claim has charged the
//     run in the step before. A run that has no slot, because it has waited, takes one. Over
//     a limit the run ends before the model is asked.
//   - It charges what it has used before the commit that says so, which is the one of its
//     turn. A run that comes over a limit by that goes on with the tools of the turn, which
//     cost no tokens, and ends when the round closes. One that ends by itself ends so. One
//     that waits goes on waiting, and ends before the inference that follows.
//   - What its model has used for a turn that comes to nothing, since the run was ended or
//     its claim is given back, is charged before the write that says so, without the slot;
//     and where its claim is lost, when it finds that out.
//   - It gives the slot back behind the commit by which the run waits or is over.

// allowance is what a step knows of its tenant's record.
type allowance struct {
	limited bool             // the tenant has limits
	known   bool             // standing was read or written by this step
	now     account.Standing // as it was then
}

// charge is what a claim has last heard of its tenant's record, for its next step.
type charge struct {
	fence uint64
	now   account.Standing
}

func (d *draft) charged() *charge {
	if !d.allowance.known {
		return nil
	}
	return &charge{d.fence(), d.allowance.now}
}

// endLimit is the code of a run's end that a limit has brought.
const endLimit = string(core.CodeTenantLimit)

// look finds out how the tenant stands, and takes a slot if the run has none. The error
// ends a run that is to ask its model while the tenant is over a limit; one with an open
// round goes on with that.
func (d *draft) look(ctx context.Context) error {
	if d.limits.Of(d.Key.Tenant).IsZero() {
		return nil
	}
	if err := d.stand(ctx); err != nil || d.head.Run.Cursor == thread.CursorTools {
		return err
	}
	return d.stop()
}

// stand is look without its consequence.
func (d *draft) stand(ctx context.Context) error {
	d.allowance.limited = true
	if c := d.conversation.charge; c != nil && c.fence == d.fence() { // by the step before, under this claim
		d.allowance.now, d.allowance.known = c.now, true
		return nil
	}
	standing, err := d.limits.Look(ctx, d.Key.Tenant, d.id)
	if err != nil {
		return err
	}
	d.allowance.now, d.allowance.known = standing, true
	behind := standing.Slot.Tokens < account.Tokens(d.totals.Usage) || standing.Slot.Spend < d.totals.Spend
	if standing.Has && behind { // it was taken by a request that came late
		slot := standing.Slot
		if err := d.limits.Leave(ctx, d.Key.Tenant, d.id, slot, account.Tokens(d.totals.Usage), d.totals.Spend); err != nil {
			return err
		}
	}
	if !standing.Has || behind {
		return d.enterSlot(ctx)
	}
	return nil
}

// enterSlot takes a slot for the run. That the claim still stands afterwards says that
// what the slot begins with is all that the run has used: nobody else has committed since
// the step has read it. A worker that was paused until its claim was lost gives it back.
func (d *draft) enterSlot(ctx context.Context) error {
	standing, made, err := d.limits.Enter(ctx, d.turn(d.totals, core.Usage{}, 0))
	if err != nil {
		return err
	}
	head, err := d.committer.Head(ctx, d.Key)
	if err != nil {
		return err
	}
	if head.Claim.Fence != d.fence() {
		if made {
			slot := standing.Slot
			err = d.limits.Leave(ctx, d.Key.Tenant, d.id, slot, slot.Tokens, slot.Spend)
		}
		return errors.Join(thread.ErrFenced, err)
	}
	d.allowance.now = standing
	return nil
}

func (d *draft) turn(before thread.Totals, used core.Usage, cost core.USD) account.Turn {
	return account.Turn{
		Key: d.Key, Run: d.id, Before: account.Tokens(before.Usage), Spent: before.Spend, Tokens: account.Tokens(used), Cost: cost,
	}
}

// stopped is the end of a run whose tenant is over a limit; nil: it is not.
func (d *draft) stopped() *core.Termination {
	if d.allowance.now.Over == nil {
		return nil
	}
	return &core.Termination{Type: core.TerminationStopped, Code: endLimit, Detail: d.allowance.now.Over.Error()}
}

// stop ends the run before its inference where the tenant is over a limit.
func (d *draft) stop() error {
	end := d.stopped()
	if end == nil {
		return nil
	}
	return &ended{*end, d.allowance.now.Over}
}

// charge counts what the calls of the step's turn have used, before the commit that says
// so, and notes in the draft what it cost.
func (d *draft) charge(ctx context.Context, t *turnBuilder) error {
	used := t.allSpent()
	if !d.allowance.limited || used == nil {
		return nil
	}
	cost := t.cost()
	before := thread.Totals{Usage: d.totals.Usage, Spend: d.totals.Spend}
	for range maxSlots {
		standing, charged, err := d.limits.Charge(ctx, d.allowance.now.Slot, d.turn(before, *used, cost))
		if err != nil {
			return fmt.Errorf("charge the tenant: %w", err)
		}
		if charged {
			d.totals.Spend += cost
			d.allowance.now, d.allowance.known = standing, true
			return nil
		}
		if err := d.enterSlot(ctx); err != nil {
			return err
		}
	}
	return core.Errorf(core.CodeUnavailable, "charge the tenant: the slot of run %s is given back again and again", d.id)
}

// chargeUnlogged counts what the model has used for the turn that is begun and will never
// be in the log, before the write by which the run ends or its claim is given back. No
// slot knows of it, so that nobody takes it off again, as is done with what the slot has
// of this turn if it was charged and its commit was refused. seq is where the log ends.
func (m *machine) chargeUnlogged(ctx context.Context, seq uint64) error {
	t := m.unsaid
	if t == nil || t.charged || m.limits.Of(m.Key.Tenant).IsZero() {
		return nil
	}
	if t.slotted { // its commit may have had no answer
		head, err := m.committer.Head(ctx, m.Key)
		if err != nil {
			return err
		}
		seq = head.Seq
	}
	if seq > t.from {
		return nil
	}
	used := t.allSpent()
	if used == nil {
		return nil
	}
	if _, _, err := m.limits.Charge(ctx, store.Slot{}, m.turn(thread.Totals{}, *used, t.cost())); err != nil {
		return fmt.Errorf("charge the tenant: %w", err)
	}
	t.charged = true
	return nil
}

// chargeLost does it for a claim that is lost, to another or since the thread is deleted:
// no write of it follows. What cannot be counted is lost with it. A turn that its slot has
// may be in the log, and else is taken off.
func (m *machine) chargeLost(ctx context.Context) {
	if m.unsaid == nil || m.unsaid.slotted {
		return
	}
	ctx, cancel := m.undisturbed(ctx)
	defer cancel()
	if err := m.chargeUnlogged(ctx, m.head.Seq); err != nil {
		m.warn(ctx, "what a lost claim has used is not charged", "error", err)
	}
}

// maxSlots bounds how many slots a charge may find given back.
const maxSlots = 4

// priced refuses a model whose price is not known where the tenant's money is limited.
func (d *draft) priced(model string) error {
	if !d.allowance.limited || d.limits.Priced(d.Key.Tenant, d.model.Provider, model) {
		return nil
	}
	return endWith("unpriced_model", core.Errorf(core.CodeInvalid, "model %q has no known price, and the tenant's money is limited", core.Excerpt(model)))
}

// leave gives the run's slot back, behind the write by which it waits or is over. What
// the log says of the run by then is in totals.
func (d *draft) leave(ctx context.Context, totals thread.Totals) {
	if d.limits.Of(d.Key.Tenant).IsZero() {
		return
	}
	ctx, cancel := d.undisturbed(ctx)
	defer cancel()
	standing := d.allowance.now
	var err error
	if !d.allowance.known { // it ends under a claim that has not stepped
		standing, err = d.limits.Look(ctx, d.Key.Tenant, d.id)
	}
	tokens, spend := account.Tokens(totals.Usage), totals.Spend
	if d.conversation == nil { // nobody can read what it has used: what was charged stands
		tokens, spend = standing.Slot.Tokens, standing.Slot.Spend
	}
	if err == nil && standing.Has {
		err = d.limits.Leave(ctx, d.Key.Tenant, d.id, standing.Slot, tokens, spend)
	}
	if err != nil {
		d.warn(ctx, "slot is not given back, the sweep will find it", "error", err)
	}
	d.allowance.known = false
}

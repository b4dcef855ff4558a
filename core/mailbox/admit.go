package mailbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

// A run is admitted before the write that enqueues it, since that write may be the one that
// starts it. A crash between the two leaves the slot of a run that no head knows: the
// submission's next attempt finds it by its Key, else the sweep releases it.

// admission is the slot that a submission has of its tenant's limits.
// It is the zero admission for a tenant without limits, for input that goes to the inbox of
// an open run, and before the first call of admit.
type admission struct {
	// run is the run that has the slot; zero: no run.
	run core.ID
	// slot is the slot as it is stored: it is released only if it is still the same. It is zero
	// if an earlier attempt got the slot.
	slot store.Slot
	// found reports that an earlier attempt got it. This one never releases it.
	found bool
}

// errNotAdmitted ends a commit that would enqueue a run without a slot: its input was meant
// for a run that has ended since it was read.
var errNotAdmitted = errors.New("the run is not admitted")

// limited reports whether the tenant has limits.
func (u *submission) limited() bool { return u.s.slots.limited(u.in.Thread.Tenant) }

// admit gets a slot for the run, if the head that was read makes a run of the input. With a
// Key the run may get the id of an earlier attempt that died before it could store its own.
// The errors are those of the limits (core.CodeTenantLimit, core.CodeTenantSpend), which
// refuse the submission before anything is stored, and those of their store.
func (u *submission) admit(ctx context.Context, head thread.Head) error {
	if !u.limited() || u.admission.run == u.ids.run {
		return nil
	}
	keyed := u.in.Key.Value != "" && !u.known
	if keyed {
		u.ids.dispatch = dispatchOf(u.ids.run) // an attempt that finds the run by its slot derives the same
	}
	if !opens(u.change(head)) {
		return nil
	}
	if keyed {
		if err := u.adoptSlot(ctx); err != nil || u.admission.found {
			return err
		}
	}
	return u.requestSlot(ctx, head)
}

// adoptSlot looks for the slot of an earlier attempt with the same Key, and takes over its
// run. A slot that is so old that the sweep may be about to release it is not used.
// Half of the time that the sweep waits is left for the write that follows.
func (u *submission) adoptSlot(ctx context.Context) error {
	used, err := u.s.slots.gate.Used(ctx, u.in.Thread.Tenant)
	if err != nil {
		return err
	}
	tag := u.slotTag()
	// If several slots fit, the oldest is used, so that every process chooses the same one.
	for _, run := range slices.SortedFunc(maps.Keys(used.Slots), compareIDs) {
		if slot := used.Slots[run]; slot.Key == tag && u.s.env.Millis()-slot.Since < u.s.slots.enqueueTime.Milliseconds()/2 {
			u.ids = ids{run, dispatchOf(run)}
			u.admission = admission{run: run, found: true}
			break
		}
	}
	return nil
}

// dispatchOf is the dispatch of a run whose id is all that is known of an earlier attempt.
// It has the run's time.
func dispatchOf(run core.ID) core.ID {
	sum := sha256.Sum256(append([]byte("dispatch "), run[:]...))
	id := wire.DerivedID(sum[:])
	copy(id[:6], run[:])
	return id
}

// requestSlot asks the tenant's limits for a slot. A slot under other ids is released first.
// Runs that end with the write give their slots back only after it, so that the limit is
// raised by their number for this one request.
func (u *submission) requestSlot(ctx context.Context, head thread.Head) error {
	u.releaseUnused(ctx, core.ID{}, nil)
	slot, err := u.s.slots.gate.Admit(ctx, accounting.Applicant{
		Key: u.in.Thread, ID: u.ids.run, Tag: u.slotTag(), Replaces: replacedRuns(u.change(head), &head), Child: u.in.Opening.Parent != nil,
	})
	if err == nil {
		u.admission.run, u.admission.slot = u.ids.run, slot
	}
	return err
}

// enqueue makes the submission's change for the head that it meets, and gets a slot whenever
// that head makes a run of the input.
//
// The head that is read may put the input into the inbox of an open run, which needs no
// slot, and the head that is written may not. The commit ends with errNotAdmitted then,
// before it writes, and starts again once there is a slot. Both kinds of head are tried on
// within one commit otherwise, so that a lost race costs no second commit.
func (u *submission) enqueue(ctx context.Context, head thread.Head, build func(thread.Head) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	if !u.limited() {
		c := u.commit(build)
		c.looked = true
		return c.run(ctx, head)
	}
	for {
		// own reports whether the change for the newest head opens a run: choose sets it, and
		// build, which is called after it for the same head, reads it.
		var own bool
		c := u.commit(func(next thread.Head) ([]store.Record, error) {
			if own && u.admission.run != u.ids.run {
				return nil, errNotAdmitted
			}
			return build(next)
		})
		c.looked = true
		c.choose = func(head thread.Head) thread.Change {
			change := u.change(head)
			own = opens(change)
			return change
		}
		next, result, err := c.run(ctx, head)
		if !errors.Is(err, errNotAdmitted) {
			return next, result, err
		}
		if err := u.requestSlot(ctx, next); err != nil {
			return next, thread.Result{}, err
		}
		head = next
	}
}

// releaseUnused releases the slot of a run that was not enqueued: by is the run that reads
// the input, or the submission was refused. The slot stays if the outcome is unknown, or if
// another attempt got it or counts on it: the sweep looks after it then.
func (u *submission) releaseUnused(ctx context.Context, by core.ID, err error) {
	a := u.admission
	if a.run.IsZero() || a.run == by && err == nil || a.found {
		return
	}
	// An unknown outcome keeps the slot: the run may be in the head. So do the ids of an
	// earlier attempt: the write of that one may still be on its way.
	shared := u.known && a.run == u.ids.run
	if err != nil && (shared || ctx.Err() != nil || !refusal(err)) { // the cause of a context that ended says nothing of the write
		return
	}
	u.admission = admission{}
	if err := u.s.slots.gate.Withdraw(context.WithoutCancel(ctx), u.in.Thread.Tenant, a.run, a.slot); err != nil {
		u.s.log.WarnContext(ctx, "slot not released, the sweep will release it", "tenant", u.in.Thread.Tenant, "thread", u.in.Thread.Thread, "run", a.run, "error", err)
	}
}

// refusal reports whether an error proves that nothing was written. The error of a deleted
// thread does not: an earlier attempt may have been applied, and a tombstone does not know.
// It errs on the side of a slot too many: the sweep releases that, while a run without a
// slot would be beyond the tenant's limit.
func refusal(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeForbidden, core.CodeNotFound, core.CodeBusy, core.CodeFull, core.CodeTooLarge,
		core.CodeConflict, core.CodeSuperseded, core.CodeSchema, core.CodeTenantLimit, core.CodeTenantSpend:
		return true
	}
	return false
}

package mailbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A run is admitted before the write that enqueues it, since that write may be the one that
// begins it. What a crash leaves between the two is a slot of a run that nobody has heard
// of: the submission's next try finds it by its Key, else the sweep gives it back.

// admission is what a submission has of its tenant's limits.
type admission struct {
	admitted core.ID    // the run that has a slot by it; zero: none
	slot     store.Slot // as it is stored
	found    bool       // an earlier try has taken it
}

// errNotAdmitted ends a commit that would enqueue a run that has not been admitted: its
// input was meant for a run that is over since.
var errNotAdmitted = errors.New("the run is not admitted")

// limited reports whether the tenant has limits.
func (u *submission) limited() bool { return !u.limits.Of(u.Thread.Tenant).IsZero() }

// admit admits the run, if the head that was read makes a run of the input. With a Key
// the run may get the id of an earlier try, which died before it could store its own.
func (u *submission) admit(ctx context.Context, head thread.Head) error {
	if !u.limited() || u.admitted == u.run {
		return nil
	}
	if u.Key.Value != "" && !u.known {
		u.dispatch = dispatchOf(u.run) // another try that finds the run by its slot comes to the same
	}
	if !opens(u.change(head)) {
		return nil
	}
	if u.Key.Value != "" && !u.known && u.admitted.IsZero() {
		earlier, err := u.earlier(ctx)
		if err != nil || earlier {
			return err
		}
	}
	return u.ask(ctx, head)
}

// tag is the form that the Key has in a slot.
func (u *submission) tag() string {
	if u.Key.Value == "" {
		return ""
	}
	return strings.TrimPrefix(keyName(u.Thread.Thread, u.Key.Value), "key:")
}

// earlier looks for the slot of an earlier try, unless it is so old that the sweep may be
// about to give it back.
func (u *submission) earlier(ctx context.Context) (found bool, err error) {
	used, err := u.limits.Used(ctx, u.Thread.Tenant)
	if err != nil {
		return false, err
	}
	tag := u.tag()
	for run, slot := range used.Slots {
		if slot.Key == tag && u.env.Millis()-slot.Since < u.enqueueTime().Milliseconds()/2 {
			u.run, u.dispatch, u.admitted, u.slot, u.found = run, dispatchOf(run), run, slot, true
			return true, nil
		}
	}
	return false, nil
}

// dispatchOf is the dispatch of a run whose id is all that is known of an earlier try. It
// has the run's time.
func dispatchOf(run core.ID) core.ID {
	sum := sha256.Sum256(append([]byte("dispatch "), run[:]...))
	id := core.DerivedID(sum[:])
	copy(id[:6], run[:6])
	return id
}

// ask admits the run. What was admitted under other ids before is given back first.
func (u *submission) ask(ctx context.Context, head thread.Head) error {
	u.settle(ctx, core.ID{}, nil)
	slot, err := u.limits.Admit(ctx, account.Applicant{
		Key: u.Thread, ID: u.run, Tag: u.tag(), Replaces: u.replaces(head), Child: u.Opening.Parent != nil,
	})
	if err == nil {
		u.admitted, u.slot = u.run, slot
	}
	return err
}

// replaces is how many runs end with the write that have slots.
func (u *submission) replaces(head thread.Head) int {
	if _, ok := u.change(head).(thread.Interrupt); !ok {
		return 0
	}
	n := len(head.Pending)
	if head.Open() && head.Run.Status != thread.Waiting {
		n++
	}
	return n
}

// opens reports whether a change makes a run of its own of the input.
func opens(change thread.Change) bool {
	_, input := change.(thread.Input)
	return !input
}

// enqueue makes the submission's change, for whichever head it meets.
func (u *submission) enqueue(ctx context.Context, head thread.Head, pointers []store.Pointer, build func(thread.Head) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	if !u.limited() {
		c := commit{Service: u.Service, key: u.Thread, choose: u.change, pointers: pointers, read: true, accepted: u.acceptedBefore,
			build: func(next thread.Head, _ thread.Result) ([]store.Record, error) { return build(next) }}
		return c.run(ctx, head)
	}
	for {
		own := false
		c := commit{Service: u.Service, key: u.Thread, pointers: pointers, read: true, accepted: u.acceptedBefore,
			choose: func(head thread.Head) thread.Change {
				change := u.change(head)
				own = opens(change)
				return change
			},
			build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
				if own && u.admitted != u.run {
					return nil, errNotAdmitted
				}
				return build(next)
			}}
		next, result, err := c.run(ctx, head)
		if !errors.Is(err, errNotAdmitted) {
			return next, result, err
		}
		if err := u.ask(ctx, next); err != nil {
			return next, thread.Result{}, err
		}
		head = next
	}
}

// settle gives the slot back of a run that was not enqueued: another reads the input, or
// it was refused. Where nobody knows, and of what another try has taken, the sweep looks.
func (u *submission) settle(ctx context.Context, reads core.ID, err error) {
	if u.admitted.IsZero() || u.admitted == reads && err == nil || u.found {
		return
	}
	if err != nil && (ctx.Err() != nil || !refusal(err)) { // the cause of a context that ended says nothing of the write
		return
	}
	run, slot := u.admitted, u.slot
	u.admission = admission{}
	if err := u.limits.GiveBack(context.WithoutCancel(ctx), u.Thread.Tenant, run, slot); err != nil {
		u.log.WarnContext(ctx, "slot is not given back, the sweep will find it", "tenant", u.Thread.Tenant, "thread", u.Thread.Thread, "run", run, "error", err)
	}
}

// refusal reports whether an error says that nothing was written. That the thread was
// deleted does not: a try before may have been applied, and a tombstone knows nothing of it.
func refusal(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeForbidden, core.CodeNotFound, core.CodeBusy, core.CodeFull, core.CodeTooLarge,
		core.CodeConflict, core.CodeSuperseded, core.CodeSchema, core.CodeTenantLimit, core.CodeTenantSpend:
		return true
	}
	return false
}

package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// pointerError names the pointers that have another value: another attempt stored them.
type pointerError struct{ pointers []store.Pointer }

func (e *pointerError) Error() string {
	return "pointer " + e.pointers[0].Name + " holds another value"
}

// afterWrite returns the plan that is stored, after what follows its write: watchers are
// notified, slots are released, the hint is sent. Watchers are first, so that the head is
// known in this process before a worker is woken to make the next one. The hint comes after
// the write, always: before it, a quick worker would find nothing to do, and the thread
// would wait for the sweep. A plan that changed nothing has a hint too, since the process that
// wrote it may have died before it sent its own; but a sweep's claim sends none (quiet), or
// each sweep would add one.
func (c *commit) afterWrite(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	w := c.w
	if w.moved != nil && !c.plan.result.Unchanged {
		w.moved(c.key, head)
	}
	w.slots.release(ctx, c.key, c.gone)
	// A lost hint is not an error: the write counts, and the sweep finds the thread.
	hint := c.plan.result.Hint
	// Before the time of a ticket there is nothing to claim inline.
	if c.quiet && c.plan.result.Unchanged || c.inline && hint != nil && hint.WakeAt == 0 {
		hint = nil
	}
	w.wakes.afterWrite(ctx, c.key, head, hint, c.plan.result.Second, c.where.hint)
	return head, c.plan.result, nil
}

// afterRefusal decides what a refused record means, and returns the head to continue with.
// If the head has moved, the transition is tried on the new one. If it has not, a holder is
// in its own way; a commit that holds no claim has met the records of another attempt at
// the same version, and moves the version on.
// The error is that of a write that cannot succeed, or of the look at the head.
func (c *commit) afterRefusal(ctx context.Context, head thread.Head, refused *store.RefusedError) (thread.Head, error) {
	stored, err := c.w.reads.head(ctx, c.key) // strongly consistent: if the version is the same now, it was so after the refusal
	if err != nil {
		return head, err
	}
	conflict := fmt.Errorf("write to %s: %w", c.key, refused)
	switch {
	case stored.Version != head.Version:
		return stored, nil
	case c.holder:
		return stored, fmt.Errorf("%w: %w", store.ErrConflict, conflict)
	// A later version of the head helps only where the record that is in the way is replaced
	// by that of a later version.
	case !rewritable(refused.Name) || !errors.Is(refused, store.ErrConflict):
		return stored, conflict
	}
	touched, _, err := c.w.commit(ctx, c.key, stored, thread.Touch{}, nil)
	return touched, err
}

// rewritable reports whether a record of a name is replaced by one of a later version.
func rewritable(name string) bool {
	r := store.Record{Name: name}
	return r.Kind() == store.KindRewrite || r.IsUsage()
}

// pause counts a failure and waits before the next look, but not before the first one: a
// lost response is most likely that of a write that was applied, and the head still shows it.
// After a throttled write it always waits. It returns the failure if there were too
// many, or if another attempt cannot help.
func (c *commit) pause(ctx context.Context, failures *int, failure error) error {
	*failures++
	if *failures > maxFailures || ctx.Err() != nil || !retryable(failure) {
		return failure
	}
	// The first look follows at once; the later ones wait longer each time.
	if *failures == 1 && !errors.Is(failure, store.ErrThrottled) {
		return nil
	}
	if err := c.w.env.Sleep(ctx, c.w.env.Jitter(min(failureCap, failureBase<<*failures))); err != nil {
		return errors.Join(failure, err)
	}
	return nil
}

// retryable reports whether sending the write again can help. An error that wraps a
// context's says nothing: a client whose own attempt has timed out returns one too.
func retryable(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeSchema, core.CodeConflict:
		return false
	}
	return true
}

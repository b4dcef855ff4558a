package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// The commit loop gives up after this many refused or failed writes. After a refusal it
// does not wait, since the refusal brings the current head. After a failure it backs off,
// but not before the first look: later the next holder may have written too.
const (
	maxRefusals = 64
	maxFailures = 6
	failureBase = 50 * time.Millisecond
	failureCap  = 2 * time.Second
)

// seenThroughWithin is how long a write is seen through whose caller has left while it was
// on its way: time enough for some attempts, and shorter than the time that a tool has left
// when its step ends.
const seenThroughWithin = time.Second

// Commit applies a change to a thread, starting from known if it has a version (it may be
// stale) and from the stored head otherwise. It stores the audits and the records of build,
// then the head, and sends the hint that follows. build (nil: none) is given what Apply
// returned, and is called again for every head that the change is tried on; its error is
// the commit's.
//
// A response that was lost on the way is settled by the commit ids: the same bytes are sent
// again until it is known whether the write was applied. store.ErrConflict: a change of a
// claim's holder whose records are refused while the head is still the same. The holder has
// put other bytes there before, and takes the next fence. Other errors are thread's,
// build's, or the store's if the outcome stays unknown.
//
// If ctx ends while a write that a hint follows is on its way, the commit continues for a
// second at most, until it is known whether the write was applied: a thread with work and
// no hint would wait for the sweep.
func (s *Service) Commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
	build func(next thread.Head, result thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	return s.writer.commit(ctx, key, known, change, build)
}

// writer writes heads, and what has to happen with each write of one: it tells watchers,
// releases slots and sends the hint. Every change of a head in this package goes through a
// commit on a writer.
// It is shared by all requests of a Service and never changes after New; slots alone has a
// state, under its own lock.
type writer struct {
	env     *env.Env
	store   store.Backend
	records thread.Records
	reads   reader
	wakes   wakes
	slots   *slots
	due     thread.DuePolicy
	// second is the lease of claims that have second hints, in milliseconds; 0: none are sent.
	second int64
	// announcing means that writes leave announcements in the head.
	announcing bool
	// metered means that heads keep what was spent on their runs.
	metered bool
	// moved is called with every head that was written; nil: there are no watchers.
	moved func(core.ThreadKey, thread.Head)
}

// commit is [Service.Commit].
func (w *writer) commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
	build func(next thread.Head, result thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c := commit{w: w, key: key, build: build, change: change}
	return c.run(ctx, known)
}

// commit is one transition on its way to the store. One goroutine uses it, once: its id names
// one write, and a second one under it would be taken for the first.
//
// The caller sets the fields before over, which describe the write; run keeps the others.
type commit struct {
	w   *writer
	key core.ThreadKey
	// change is the transition; choose, if set, makes it for each head instead.
	change thread.Change
	choose func(thread.Head) thread.Change
	// build makes the records that are stored with the head; nil: none.
	build func(thread.Head, thread.Result) ([]store.Record, error)
	// pointers are stored with the head. If one has another value, nothing is written, and
	// the error is a *pointerError.
	pointers []store.Pointer
	// quiet sends no hint for work that is not claimed.
	quiet bool
	// inline sends no hint for what can be claimed: the caller claims it next.
	inline bool
	// covers is the schema of a record that is stored already and that the write makes visible;
	// 0: no such record.
	covers uint16
	// looked means that the head passed to run was read, even if it does not exist.
	looked bool

	// over reports whether the goal of the change is reached, although the head no longer has
	// the change's target. It is called if Apply finds nothing and an earlier attempt may have
	// been applied; nil: the goal was not reached, then.
	over func(context.Context, thread.Head) (bool, error)
	// accepted reports whether what the change would bring into the head has been there.
	// It is called if Apply knows nothing of it and an earlier attempt may have been
	// applied; nil: what Apply knows is enough.
	accepted func(context.Context, thread.Head) (bool, error)

	// id is the commit's, the same for all its plans.
	id core.ID
	// open means that an attempt without an outcome may still be applied: the head has not
	// moved since. doubt means that there was one, and stays set.
	open, doubt bool
	// holder means that the change is of a claim's holder.
	holder bool
	where  points
	// plan is what was sent last.
	plan plan
	// bill is what is charged to the run, if it is metered.
	bill bill
	// gone are the runs that the plan takes out of the queue, if the tenant has limits.
	gone []core.ID
}

// run is the loop: look (unless the caller or a refusal brought the head), see whether the
// last attempt was applied after all, apply, write. It ends with the head that has the
// change in it, or with an error that denies it; if the outcome stays unknown, the
// error is the store's last.
//
// A plan is made again only for another version of the head. For the same version it is sent
// unchanged: the previous attempt may still be on its way to the store, and two
// different ones must not meet there.
func (c *commit) run(ctx context.Context, head thread.Head) (next thread.Head, result thread.Result, err error) {
	c.id = c.w.env.NewID()
	next, result, err = c.attempts(ctx, head)
	if err != nil && ctx.Err() != nil && c.open && (c.plan.result.Hint != nil || c.plan.result.Claimed) {
		next, result, err = c.seeThrough(ctx, next, err)
	}
	c.bill.end(c.plan.result.Unchanged, err)
	return next, result, err
}

// seeThrough continues with a write whose caller has left while it was on its way, from a
// look at the head. It returns the caller's error if it does not learn the outcome either.
func (c *commit) seeThrough(ctx context.Context, known thread.Head, left error) (thread.Head, thread.Result, error) {
	free, cancel := c.w.env.WithTimeout(context.WithoutCancel(ctx), seenThroughWithin)
	defer cancel()
	c.looked = false
	next, result, err := c.attempts(free, thread.Head{})
	if err != nil && c.open {
		return known, thread.Result{}, left
	}
	return next, result, err
}

// attempts tries the change on one head after the other until one has it.
// open and doubt are kept across calls: seeThrough calls it a second time, for the same
// write under the same id.
func (c *commit) attempts(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	// fresh means that the head is worth an attempt: it may be stale, which costs a refusal
	// that brings the newer one. After a failure nothing is known, so the head is read.
	fresh, failures, refusals := head.Exists() || c.looked, 0, 0
	for {
		if !fresh {
			stored, err := c.w.reads.head(ctx, c.key)
			if err != nil {
				if err := c.pause(ctx, &failures, err); err != nil {
					return head, thread.Result{}, err
				}
				continue
			}
			head, fresh = stored, true
		}
		done, err := c.prepare(ctx, head)
		if _, ok := errors.AsType[*lookError](err); ok {
			if err := c.pause(ctx, &failures, err); err != nil {
				return head, thread.Result{}, err
			}
			fresh = false
			continue
		}
		if err != nil {
			return head, thread.Result{}, err
		}
		if done {
			return c.afterWrite(ctx, head)
		}
		// A crash from here on leaves records without a head that covers them, or a head
		// whose hint was not sent: the first are orphans that no reader believes, the second
		// is found by the sweep.
		passed := c.w.env.Reach(c.where.head)
		// A call with a context that has ended is not sent, so that it leaves no doubt.
		sent := ctx.Err() == nil
		outcome, err := c.w.store.Commit(ctx, c.key, c.plan.batch)
		passed()
		refused, isRefused := errors.AsType[*store.RefusedError](err)
		switch {
		case err == nil && outcome.Written:
			return c.afterWrite(ctx, c.plan.batch.Head)
		// A pointer has another value: only the caller knows what that means.
		case len(outcome.Taken) > 0:
			return head, thread.Result{}, &pointerError{outcome.Taken}
		case err == nil:
			if refusals++; refusals > maxRefusals {
				return head, thread.Result{}, core.Errorf(core.CodeThrottled, "write head of %s: lost %d races", c.key, refusals)
			}
			head = outcome.Head // the one that won, so nothing need be read
		case isRefused:
			stored, err := c.afterRefusal(ctx, head, refused)
			if err != nil {
				return stored, thread.Result{}, err
			}
			head = stored
			if refusals++; refusals > maxRefusals {
				return head, thread.Result{}, core.Errorf(core.CodeThrottled, "write to %s: %w", c.key, refused)
			}
		default:
			fresh, c.open, c.doubt = false, c.open || sent, c.doubt || sent
			if err := c.pause(ctx, &failures, fmt.Errorf("write head of %s: %w", c.key, err)); err != nil {
				return head, thread.Result{}, err
			}
		}
	}
}

package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// The commit loop gives up after this many refused or failed writes. A refusal
// costs no wait, since it brings the current head; a failure backs off, but for
// the first look after it: later the next holder may have written too.
const (
	maxRefusals = 64
	maxFailures = 6
	failureBase = 50 * time.Millisecond
	failureCap  = 2 * time.Second
)

// leftWithin is how long a write is seen through whose caller has left while it was on its
// way: time enough for some tries, and shorter than the time that a tool has left when its
// step ends.
const leftWithin = time.Second

// Commit applies a change to a thread, starting from known if it has a version
// (it may be stale) and from the stored head otherwise. It stores the audits
// and the records of build, then the head, and sends the hint that comes after
// it. build (nil: none) is given what Apply returned, and is called again for
// every head that the change is tried on; its error is the commit's.
//
// A response that was lost on the way is settled by the commit ids: the same
// bytes go out again until it is known whether the write was applied. A change
// of a claim's holder whose records are refused while the head stands still is
// store.ErrConflict: the holder has put other bytes there before, and takes
// the next fence. Other errors are thread's, build's, or the store's when the
// outcome stays unknown.
//
// When ctx ends while a write is on its way that a hint comes after, the commit goes on
// for a second at most, until it is known whether the write was applied: a thread with
// work and no hint would wait for the sweep.
func (s *Service) Commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
	build func(next thread.Head, result thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c := commit{Service: s, key: key, build: build, change: change}
	return c.run(ctx, known)
}

// commit is one transition on its way to the store. It is one goroutine's alone and
// is used once: its id stands for one write, and a second one under it would be taken
// for the first.
type commit struct {
	*Service
	key      core.ThreadKey
	change   thread.Change
	choose   func(thread.Head) thread.Change // the change for a head, where it depends on it; nil: change
	build    func(thread.Head, thread.Result) ([]store.Record, error)
	pointers []store.Pointer
	quiet    bool          // send no hint for work that is not claimed
	later    time.Duration // the caller claims next what the write makes possible: its hint waits so long
	covers   uint16        // schema of a record that stands already and that the write makes visible; 0: none
	read     bool          // the head that run is given was read, even if it does not exist

	// over reports whether what the change is about, and the head has no more, has come to
	// what the change was to bring about. It is asked where Apply finds nothing and an
	// earlier try may have been applied; nil: nothing was, then.
	over func(context.Context, thread.Head) (bool, error)
	// accepted reports whether what the change would bring into the head has been there. It
	// is asked where Apply knows nothing of it and an earlier try may have been applied; nil:
	// what Apply knows is enough.
	accepted func(context.Context, thread.Head) (bool, error)

	id     core.ID
	open   bool // a try was sent that may be applied yet: nobody has said what it came to
	doubt  bool // a try was sent of which nobody has said what it came to, whatever has come since
	holder bool
	where  points
	plan   plan      // what was sent last
	bill   bill      // what is charged to the run, where that is metered
	gone   []core.ID // runs that the plan takes out of the queue, where the tenant has limits
}

// plan is a transition applied to one head. It is sent again as it is, so that
// a write that is applied late has the same bytes.
type plan struct {
	made   bool
	base   uint64 // version that it was applied to
	result thread.Result
	batch  store.Commit
}

// takenError says which pointers held another value.
type takenError struct{ pointers []store.Pointer }

func (e *takenError) Error() string { return "pointer " + e.pointers[0].Name + " holds another value" }

// run is the loop: look (unless the caller or a refusal brought the head), see
// whether the last try was applied after all, apply, write. It ends with the
// head that has the change in it, or with an error that says it has not; the
// error of an outcome that stays unknown is the store's last.
//
// A plan is made anew only for another version of the head. For the same one it
// is sent as it was: the try before may still be on its way to the store, and
// two different ones must not meet there.
func (c *commit) run(ctx context.Context, head thread.Head) (next thread.Head, result thread.Result, err error) {
	c.id = c.env.NewID()
	next, result, err = c.attempts(ctx, head)
	if err != nil && ctx.Err() != nil && c.open && c.plan.result.Hint != nil {
		next, result, err = c.seeThrough(ctx, next, err)
	}
	c.settle(err)
	return next, result, err
}

// seeThrough goes on with a write whose caller has left while it was on its way, from a
// look at the head. It returns the caller's error if it does not come to know either.
func (c *commit) seeThrough(ctx context.Context, known thread.Head, left error) (thread.Head, thread.Result, error) {
	free, cancel := c.env.WithTimeout(context.WithoutCancel(ctx), leftWithin)
	defer cancel()
	c.read = false
	next, result, err := c.attempts(free, thread.Head{})
	if err != nil && c.open {
		return known, thread.Result{}, left
	}
	return next, result, err
}

func (c *commit) attempts(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	// fresh says that head is worth a try: it may be stale, which costs a refusal that
	// brings the newer one. After a failure nothing is known, so the head is read.
	fresh, failures, refusals := head.Exists() || c.read, 0, 0
	for {
		if !fresh {
			stored, err := c.Head(ctx, c.key)
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
			return c.applied(ctx, head)
		}
		// A crash from here on leaves records without a head that covers them, or a head
		// whose hint was not sent: the first are orphans that nobody believes, the second
		// is found by the sweep.
		c.env.Reach(c.where.head, env.Before)
		sent := ctx.Err() == nil
		outcome, err := c.store.Commit(ctx, c.key, c.plan.batch)
		c.env.Reach(c.where.head, env.After)
		refused, isRefused := errors.AsType[*store.RefusedError](err)
		switch {
		case err == nil && outcome.Written:
			return c.applied(ctx, c.plan.batch.Head)
		case err == nil && len(outcome.Taken) > 0:
			return head, thread.Result{}, &takenError{outcome.Taken}
		case err == nil:
			if refusals++; refusals > maxRefusals {
				return head, thread.Result{}, core.Errorf(core.CodeThrottled, "write head of %s: lost %d races", c.key, refusals)
			}
			head = outcome.Head // the one that won, so nothing need be read
		case isRefused:
			stored, err := c.stand(ctx, head, refused)
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

// prepare makes the plan for a head, if it has none. done says that there is nothing to
// write: the head has the change, or what it was to bring about has come about.
//
// It comes before anything is tried, since what an earlier try wrote must not be done
// twice. Where others hide that it was applied, Apply says Unchanged, or finds nothing any
// more.
func (c *commit) prepare(ctx context.Context, head thread.Head) (done bool, err error) {
	if c.mine(&head) {
		return true, nil
	}
	if c.plan.made && c.plan.base == head.Version {
		return false, nil
	}
	err = c.apply(ctx, head)
	if err == nil && c.plan.result.Unchanged {
		return true, nil
	}
	if c.doubt && c.accepted != nil {
		accepted, failed := c.accepted(ctx, head)
		if failed != nil || accepted { // the plan is for a second time
			c.plan, c.gone = plan{result: thread.Result{Unchanged: true, Duplicate: true}}, nil
		}
		switch {
		case failed != nil:
			return false, &lookError{failed}
		case accepted:
			return true, nil
		}
	}
	if err == nil || c.over == nil || !c.doubt || !errors.Is(err, thread.ErrNotFound) {
		return false, err
	}
	over, failed := c.over(ctx, head)
	switch {
	case failed != nil:
		return false, &lookError{failed}
	case over:
		return true, nil
	}
	return false, err
}

// lookError says that what became of a target could not be read.
type lookError struct{ cause error }

func (e *lookError) Error() string { return "look for what was changed: " + e.cause.Error() }
func (e *lookError) Unwrap() error { return e.cause }

// apply makes the plan for a head. The commit id is the same for every plan of
// one commit: it says who wrote, not which try.
func (c *commit) apply(ctx context.Context, head thread.Head) error {
	c.open = false // the head has moved: what was sent for the one before is refused
	change := c.change
	if c.choose != nil {
		change = c.choose(head)
	}
	c.holder, c.where = thread.ByHolder(change), pointsOf(change)
	schemas := c.records.Schemas
	schemas.Writes = max(schemas.Writes, c.covers)
	t := thread.Transition{Now: c.env.Millis(), CommitID: c.id, Due: c.due, Schemas: schemas, Announce: c.announcing, Change: change}
	if c.keep > 0 {
		t.Meter, t.Spent = true, c.spent(ctx, change)
	}
	next, result, err := thread.Apply(head, t)
	if err != nil {
		return fmt.Errorf("thread %s: %w", c.key.Thread, err)
	}
	// From here on the plan is the new one, also when a record of it cannot be built:
	// run ends then, and nothing of it was sent.
	c.plan = plan{made: true, base: head.Version, result: result, batch: store.Commit{Head: next}}
	if result.Unchanged {
		return nil
	}
	c.gone = nil
	if c.limits != nil && len(head.Pending)+len(head.Delayed) > 0 && !c.limits.Of(c.key.Tenant).IsZero() {
		c.gone = dropped(&head, &next)
	}
	c.plan.batch.Pointers = c.pointers
	if !result.Opened.IsZero() {
		opened := runPointer(result.Opened, pointer{Thread: c.key.Thread, Run: result.Opened, Dispatch: result.Opened})
		// Cut to its length, so that append copies: the next plan begins with c.pointers.
		c.plan.batch.Pointers = append(c.pointers[:len(c.pointers):len(c.pointers)], opened)
	}
	for _, audit := range result.Before {
		record, err := c.auditRecord(audit, head.Fence, next.Version)
		if err != nil {
			return err
		}
		c.plan.batch.Records = append(c.plan.batch.Records, record)
	}
	if !result.Opened.IsZero() {
		listing, err := c.runListing(next, result.Opened, result.Opened, "", "")
		if err != nil {
			return err
		}
		c.plan.batch.Records = append(c.plan.batch.Records, listing)
	}
	if c.build != nil {
		records, err := c.build(next, result)
		if before := c.plan.batch.Records; len(before) > 0 {
			records = append(before, records...)
		}
		if c.plan.batch.Records = records; err != nil {
			return err
		}
	}
	if c.keep > 0 {
		c.charge()
	}
	return nil
}

// applied returns the plan that is stored, after those who watch were told and its
// hint was sent. Watchers are told first, so that the head is known here before a
// worker is brought to make the next one. The hint comes after the write, always: before it,
// a quick worker would find nothing to do and the thread would wait for the sweep. A
// plan that changed nothing has a hint too, since whoever wrote it may have died
// before theirs; but a sweep's claim sends none (quiet), or each sweep would add one.
func (c *commit) applied(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	if c.moved != nil && !c.plan.result.Unchanged {
		c.moved(c.key, head)
	}
	c.leave(ctx, c.key, c.gone)
	if hint := c.plan.result.Hint; hint != nil && !(c.quiet && c.plan.result.Unchanged) {
		wait := *hint
		if c.later > 0 {
			wait.At = max(wait.At, c.env.Millis()+c.later.Milliseconds())
		}
		c.hint(ctx, c.key, head, &wait, c.where.hint)
	}
	return head, c.plan.result, nil
}

// stand decides what a refused record means. When the head has moved, the
// transition is tried on the new one. When it stands still, a holder is in its
// own way; whoever holds no claim has met another's try at the same version, and
// moves the version on.
func (c *commit) stand(ctx context.Context, head thread.Head, refused *store.RefusedError) (thread.Head, error) {
	stored, err := c.Head(ctx, c.key) // strongly consistent, so a version that still stands did so after the refusal
	if err != nil {
		return head, err
	}
	conflict := fmt.Errorf("write to %s: %w", c.key, refused)
	switch {
	case stored.Version != head.Version:
		return stored, nil
	case c.holder:
		return stored, fmt.Errorf("%w: %w", store.ErrConflict, conflict)
	case !rewritable(refused.Name) || !errors.Is(refused, store.ErrConflict):
		return stored, conflict
	}
	touched, _, err := c.Commit(ctx, c.key, stored, thread.Touch{}, nil)
	return touched, err
}

// rewritable reports whether a record of a name is replaced by one of a later version.
func rewritable(name string) bool {
	r := store.Record{Name: name}
	return r.Kind() == store.KindRewrite || r.IsUsage()
}

// pause counts a failure and waits before the next look, but not before the
// first: a lost response is most likely one of a write that was applied, and the
// head still says so; a throttled store is left alone at once. It returns the
// failure when there were too many, or when it is no use.
func (c *commit) pause(ctx context.Context, failures *int, failure error) error {
	*failures++
	if *failures > maxFailures || ctx.Err() != nil || !retryable(failure) {
		return failure
	}
	if *failures == 1 && !errors.Is(failure, store.ErrThrottled) {
		return nil
	}
	if err := c.env.Sleep(ctx, c.env.Jitter(min(failureCap, failureBase<<*failures))); err != nil {
		return errors.Join(failure, err)
	}
	return nil
}

// retryable reports whether trying the write again can help. An error that wraps
// a context's says nothing: a client whose own try has timed out returns one too.
func retryable(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeSchema, core.CodeConflict:
		return false
	}
	return true
}

type points struct{ head, hint env.Point }

// pointsOf names the I/O of a change, for the test builds that crash there.
func pointsOf(change thread.Change) points {
	switch change.(type) {
	case thread.Enqueue, thread.EnqueueAndClaim, thread.Input, thread.Interrupt, thread.Edit, thread.Retract:
		return points{env.PointEnqueue, env.PointHint}
	case thread.TakeClaim, thread.Reclaim:
		return points{env.PointClaim, env.PointContinue}
	case thread.CommitTurn, thread.Suspend:
		return points{env.PointCommitTurn, env.PointContinue}
	case thread.Decide, thread.Cancel:
		return points{env.PointDecide, env.PointDecisionHint}
	}
	return points{env.PointCommitStep, env.PointContinue}
}

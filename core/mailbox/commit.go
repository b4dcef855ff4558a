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
type writer struct {
	env        *env.Env
	store      store.Backend
	records    thread.Records
	reads      reader
	wakes      wakes
	slots      *slots
	due        thread.DuePolicy
	announcing bool          // writes leave announcements in the head
	keep       time.Duration // how long usage is kept; 0: nothing is metered
	moved      func(core.ThreadKey, thread.Head)
}

// commit is [Service.Commit].
func (w *writer) commit(ctx context.Context, key core.ThreadKey, known thread.Head, change thread.Change,
	build func(next thread.Head, result thread.Result) ([]store.Record, error)) (thread.Head, thread.Result, error) {
	c := commit{w: w, key: key, build: build, change: change}
	return c.run(ctx, known)
}

// commit is one transition on its way to the store. It is one goroutine's alone and is used
// once: its id stands for one write, and a second one under it would be taken for the
// first.
type commit struct {
	w        *writer
	key      core.ThreadKey
	change   thread.Change
	choose   func(thread.Head) thread.Change // the change for a head, where it depends on it; nil: change
	build    func(thread.Head, thread.Result) ([]store.Record, error)
	pointers []store.Pointer
	quiet    bool          // send no hint for work that is not claimed
	later    time.Duration // the caller claims next what the write makes possible: its hint waits so long
	covers   uint16        // schema of a record that is stored already and that the write makes visible; 0: none
	looked   bool          // the head that run is given was read, even if it does not exist

	// over reports whether what the change is about, and the head no longer has, has come
	// to what the change was to bring about. It is called if Apply finds nothing and an
	// earlier attempt may have been applied; nil: nothing was, then.
	over func(context.Context, thread.Head) (bool, error)
	// accepted reports whether what the change would bring into the head has been there.
	// It is called if Apply knows nothing of it and an earlier attempt may have been
	// applied; nil: what Apply knows is enough.
	accepted func(context.Context, thread.Head) (bool, error)

	id     core.ID
	open   bool // an attempt without an outcome may still be applied: the head has not moved since
	doubt  bool // there was an attempt without an outcome, whatever has happened since
	holder bool // the change is of a claim's holder
	where  points
	plan   plan      // what was sent last
	bill   bill      // what is charged to the run, if it is metered
	gone   []core.ID // runs that the plan takes out of the queue, if the tenant has limits
}

// plan is a transition applied to one head. It is sent again as it is, so that a write that
// is applied late has the same bytes.
type plan struct {
	made   bool
	base   uint64 // version that it was applied to
	result thread.Result
	batch  store.Commit
}

// pointerError says which pointers have another value: another attempt stored them.
type pointerError struct{ pointers []store.Pointer }

func (e *pointerError) Error() string {
	return "pointer " + e.pointers[0].Name + " holds another value"
}

// run is the loop: look (unless the caller or a refusal brought the head), see whether the
// last attempt was applied after all, apply, write. It ends with the head that has the
// change in it, or with an error that says it has not; if the outcome stays unknown, the
// error is the store's last.
//
// A plan is made again only for another version of the head. For the same version it is
// sent as it was: the previous attempt may still be on its way to the store, and two
// different ones must not meet there.
func (c *commit) run(ctx context.Context, head thread.Head) (next thread.Head, result thread.Result, err error) {
	c.id = c.w.env.NewID()
	next, result, err = c.attempts(ctx, head)
	if err != nil && ctx.Err() != nil && c.open && c.plan.result.Hint != nil {
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
func (c *commit) attempts(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	// fresh says that the head is worth an attempt: it may be stale, which costs a refusal
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
		c.w.env.Reach(c.where.head, env.Before)
		sent := ctx.Err() == nil
		outcome, err := c.w.store.Commit(ctx, c.key, c.plan.batch)
		c.w.env.Reach(c.where.head, env.After)
		refused, isRefused := errors.AsType[*store.RefusedError](err)
		switch {
		case err == nil && outcome.Written:
			return c.afterWrite(ctx, c.plan.batch.Head)
		case err == nil && len(outcome.Taken) > 0:
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

// prepare makes the plan for a head, if it has none. done says that there is nothing to
// write: the head has the change, or what it was to bring about has happened.
//
// It comes before anything is written, since what an earlier attempt wrote must not be done
// twice. If others hide that it was applied, Apply says Unchanged, or no longer finds the
// target.
func (c *commit) prepare(ctx context.Context, head thread.Head) (done bool, err error) {
	if c.mine(&head) {
		return true, nil
	}
	if c.plan.made && c.plan.base == head.Version {
		return false, nil
	}
	err = c.makePlan(ctx, head)
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

// makePlan applies the change to a head. The commit id is the same for every plan of one
// commit: it says who wrote, not which attempt.
func (c *commit) makePlan(ctx context.Context, head thread.Head) error {
	c.open = false // the head has moved: what was sent for the one before is refused
	change := c.change
	if c.choose != nil {
		change = c.choose(head)
	}
	c.holder, c.where = thread.ByHolder(change), pointsOf(change)
	schemas := c.w.records.Schemas
	schemas.Writes = max(schemas.Writes, c.covers)
	t := thread.Transition{Now: c.w.env.Millis(), CommitID: c.id, Due: c.w.due, Schemas: schemas, Announce: c.w.announcing, Change: change}
	if c.w.keep > 0 {
		t.Meter, t.Spent = true, c.bill.sinceLastWrite(ctx, c.key, change)
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
	if len(head.Pending)+len(head.Delayed) > 0 && c.w.slots.limited(c.key.Tenant) {
		c.gone = dequeued(&head, &next)
	}
	if err := c.addRecords(head, next, result); err != nil {
		return err
	}
	if c.w.keep > 0 {
		c.bill.charge(&c.plan, c.w.store)
	}
	return nil
}

// addRecords adds the pointers and records of the plan, in the order in which they are
// stored: audits, the listing of a run that the transition opened, then those of build.
func (c *commit) addRecords(head, next thread.Head, result thread.Result) error {
	batch, records := &c.plan.batch, c.w.records
	batch.Pointers = c.pointers
	for _, audit := range result.Before {
		record, err := auditRecord(records, audit, head.Fence, next.Version)
		if err != nil {
			return err
		}
		batch.Records = append(batch.Records, record)
	}
	if opened := result.Opened; !opened.IsZero() {
		// Cut to its length, so that append copies: the next plan begins with c.pointers.
		batch.Pointers = append(c.pointers[:len(c.pointers):len(c.pointers)], runPointer(opened, pointer{Thread: c.key.Thread, Run: opened, Dispatch: opened}))
		listing, err := runListing(records, next, opened, opened, "", "")
		if err != nil {
			return err
		}
		batch.Records = append(batch.Records, listing)
	}
	if c.build == nil {
		return nil
	}
	built, err := c.build(next, result)
	if before := batch.Records; len(before) > 0 {
		built = append(before, built...)
	}
	batch.Records = built
	return err
}

// afterWrite returns the plan that is stored, after what follows its write: watchers are
// told, slots are released, the hint is sent. Watchers are told first, so that the head is
// known in this process before a worker is woken to make the next one. The hint comes after
// the write, always: before it, a quick worker would find nothing to do, and the thread
// would wait for the sweep. A plan that changed nothing has a hint too, since whoever wrote
// it may have died before sending theirs; but a sweep's claim sends none (quiet), or each
// sweep would add one.
func (c *commit) afterWrite(ctx context.Context, head thread.Head) (thread.Head, thread.Result, error) {
	w := c.w
	if w.moved != nil && !c.plan.result.Unchanged {
		w.moved(c.key, head)
	}
	w.slots.release(ctx, c.key, c.gone)
	if hint := c.plan.result.Hint; hint != nil && !(c.quiet && c.plan.result.Unchanged) {
		wait := *hint
		if c.later > 0 {
			wait.At = max(wait.At, w.env.Millis()+c.later.Milliseconds())
		}
		w.wakes.afterWrite(ctx, c.key, head, &wait, c.where.hint)
	}
	return head, c.plan.result, nil
}

// afterRefusal decides what a refused record means, and returns the head to continue with.
// If the head has moved, the transition is tried on the new one. If it has not, a holder is
// in its own way; a commit that holds no claim has met the records of another attempt at
// the same version, and moves the version on.
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
// lost response is most likely that of a write that was applied, and the head still says
// so. After a throttled write it always waits. It returns the failure if there were too
// many, or if another attempt cannot help.
func (c *commit) pause(ctx context.Context, failures *int, failure error) error {
	*failures++
	if *failures > maxFailures || ctx.Err() != nil || !retryable(failure) {
		return failure
	}
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

// points names the I/O of a commit: the write of its head, and its hint.
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

package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// plan is a transition applied to one head. It is sent again as it is, so that a write that
// is applied late has the same bytes.
// The zero plan is for no head. A plan that changes nothing (result.Unchanged) is not
// written.
type plan struct {
	made bool
	// base is the version of the head that the change was applied to.
	base   uint64
	result thread.Result
	// batch is what one call of the store writes.
	batch store.Commit
}

// prepare makes the plan for a head, if it has none. done means that there is nothing to write:
// the head has the change, or its goal is reached.
//
// It comes before anything is written, since what an earlier attempt wrote must not be done
// twice. If others hide that it was applied, Apply says Unchanged, or no longer finds the
// target.
func (c *commit) prepare(ctx context.Context, head thread.Head) (done bool, err error) {
	if c.mine(&head) {
		return true, nil
	}
	// The plan for this version exists: it is sent again as it is.
	if c.plan.made && c.plan.base == head.Version {
		return false, nil
	}
	err = c.makePlan(ctx, head)
	if err == nil && c.plan.result.Unchanged {
		return true, nil
	}
	// An attempt without an outcome may have brought the target into the head, and it may
	// have left since: applying the change again would bring it a second time.
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

// lookError reports that the outcome of a target could not be read.
type lookError struct{ cause error }

func (e *lookError) Error() string { return "look for what was changed: " + e.cause.Error() }
func (e *lookError) Unwrap() error { return e.cause }

// makePlan applies the change to a head. The commit id is the same for every plan of one
// commit: it names the writer, not the attempt.
//
// The error is that of Apply or of build; nothing was sent of the plan then.
func (c *commit) makePlan(ctx context.Context, head thread.Head) error {
	c.open = false // the head has moved: what was sent for the one before is refused
	change := c.change
	if c.choose != nil {
		change = c.choose(head)
	}
	kind := thread.KindOf(change)
	c.holder, c.where = kind.Holder, pointsOf(kind.Stage)
	schemas := c.w.records.Schemas
	schemas.Writes = max(schemas.Writes, c.covers)
	t := thread.Transition{Now: c.w.env.Millis(), CommitID: c.id, Due: c.w.due, Schemas: schemas, Announce: c.w.announcing, Change: change}
	if !c.inline {
		t.Second = c.w.second
	}
	if c.w.metered {
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
	if c.w.slots.limited(c.key.Tenant) {
		c.gone = dequeued(&head, &next)
	}
	if err := c.addRecords(head, next, t.Now, result); err != nil {
		return err
	}
	if c.w.metered {
		c.bill.charge(&c.plan, c.w.store)
	}
	return nil
}

// addRecords adds the pointers and records of the plan, in the order in which they are
// stored: audits, the listing of a run that the transition opened, what an ended run owes its
// children, then those of build. now
// is the transition's, in unix milliseconds: audits have it where ends are announced.
func (c *commit) addRecords(head, next thread.Head, now int64, result thread.Result) error {
	batch, records := &c.plan.batch, c.w.records
	if !c.w.announcing {
		now = 0
	}
	batch.Pointers = c.pointers
	for _, audit := range result.Before {
		record, err := auditRecord(records, audit, now, head.Fence, next.Version)
		if err != nil {
			return err
		}
		batch.Records = append(batch.Records, record)
	}
	if opened := result.Opened; !opened.IsZero() {
		// Cut to its length, so that append copies: the next plan begins with c.pointers.
		batch.Pointers = append(c.pointers[:len(c.pointers):len(c.pointers)], runPointer(opened, pointer{Thread: c.key.Thread, Run: opened, Dispatch: opened}))
		listing, err := runListing(records, next, opened, opened, thread.Listing{})
		if err != nil {
			return err
		}
		batch.Records = append(batch.Records, listing)
	}
	if result.Left != nil {
		payload, err := records.EncodeOutbox(result.Left.Record())
		if err != nil {
			return err
		}
		batch.Records = append(batch.Records, store.Record{Name: recordname.Outbox(result.Left.ID), Payload: payload})
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

// points names the I/O of a commit: the write of its head, and its hint.
// They are the places at which test builds end the process.
type points struct{ head, hint env.Point }

// pointsOf names the I/O of the changes of a stage, for the test builds that crash there.
func pointsOf(stage thread.Stage) points {
	switch stage {
	case thread.StageSubmit:
		return points{point.Enqueue, point.Hint}
	case thread.StageClaim:
		return points{point.Claim, point.Continue}
	case thread.StageTurn:
		return points{point.CommitTurn, point.Continue}
	case thread.StageDecide:
		return points{point.Decide, point.DecisionHint}
	}
	return points{point.CommitStep, point.Continue}
}

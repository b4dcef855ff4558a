package run

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

// maxRefences bounds how often one commit takes a new fence.
const maxRefences = 8

// builds makes the records of a commit, without fence and version.
type builds func(next thread.Head, result thread.Result) ([]store.Record, error)

// commitTime is how long a commit may take that has begun: longer than the
// tries of the AWS client that get no response, so that the head can still be
// read, which says what they came to.
const commitTime = 25 * time.Second

// commit applies a change under the step's claim. Where records that an earlier
// try of this claim has left behind stand in the way, it takes the next fence:
// change is asked again then, since it names the fence.
//
// Only the step's goroutine commits, but the watch renews the lease beside it.
// Both may lose a race to the other; the committer's loop then tries the same
// change on the newer head, which differs in nothing that the change is about.
//
// What has begun is seen through, though the host stops: else nobody would know
// what it came to. Nor may the watch stop it, which finds the claim gone as soon
// as the commit itself is applied.
func (p *step) commit(ctx context.Context, change func() thread.Change, build builds) (thread.Result, error) {
	if ctx.Err() != nil {
		return thread.Result{}, context.Cause(ctx)
	}
	within, cancel := p.seeThrough(ctx)
	defer cancel()
	for try := 0; ; try++ {
		head, result, err := p.committer.Commit(within, p.Key, p.head, change(), p.stamped(build))
		// The committer has tried the same bytes until it knew: other bytes of this
		// claim stand there for good, and only a higher fence goes over them.
		if errors.Is(err, store.ErrConflict) && try < maxRefences {
			if err := p.takeFence(within, head); err != nil {
				return result, err
			}
			continue
		}
		if core.CodeOf(err) == core.CodeTooLarge { // a record or the head: the same turn would come to the same size again
			return result, endWith("too_large", err)
		}
		if err != nil {
			return result, err
		}
		p.head, p.moved = head, true
		return result, nil
	}
}

// seeThrough makes the context of a write that has begun. It is not the step's, which ends
// with the time for work, and with the watch.
func (p *step) seeThrough(ctx context.Context) (context.Context, context.CancelFunc) {
	until := p.env.Now().Add(commitTime)
	if !p.last.IsZero() && p.last.Before(until) {
		until = p.last
	}
	return p.env.WithDeadline(context.WithoutCancel(ctx), until)
}

// stamped adds fence and version to what build makes. build is called for every
// head that the change is tried on, and under a new fence after a refence, so
// that nothing of either may be fixed before.
func (p *step) stamped(build builds) func(thread.Head, thread.Result) ([]store.Record, error) {
	if build == nil {
		return nil
	}
	return func(next thread.Head, result thread.Result) ([]store.Record, error) {
		records, err := build(next, result)
		for i := range records {
			switch kind := records[i].Kind(); {
			case kind == store.KindLog:
				records[i].Fence = p.fence()
			case kind == store.KindRewrite, kind == store.KindLatest, records[i].IsUsage():
				records[i].Fence, records[i].Version = p.fence(), next.Version
			}
		}
		return records, err
	}
}

// refence takes the next fence outside of a commit. It is seen through like one: a fence
// that the step takes and does not hear of would leave the run to nobody until its lease
// is over.
func (p *step) refence(ctx context.Context, head thread.Head) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	within, cancel := p.seeThrough(ctx)
	defer cancel()
	return p.takeFence(within, head)
}

// takeFence takes the next fence, under which other bytes may go where this claim
// has put some. The watch may read the head between the write and the moment
// when the step knows its new fence, hence refencing: one fence more is no lost
// claim then. A lease that is over is renewed with it.
func (p *step) takeFence(ctx context.Context, head thread.Head) error {
	p.hold.refencing.Store(true)
	defer p.hold.refencing.Store(false)
	change := thread.Refence{Fence: p.fence()}
	if head.Claim.Lease < p.env.Millis() {
		change.Lease = p.lease.Milliseconds()
	}
	head, _, err := p.committer.Commit(ctx, p.Key, head, change, nil)
	if err != nil {
		return err
	}
	if p.head = head; head.Claim.Fence != p.fence()+1 {
		return thread.ErrFenced // it was taken, and then another worker took the run
	}
	p.hold.fence.Store(head.Claim.Fence) // before refencing ends: the watch must know one of the two
	return nil
}

// Retries of a put that is no commit: what a tool said is not thrown away for a
// passing fault of the store.
const (
	putFailures = 6
	putBase     = 50 * time.Millisecond
)

// put stores records beside each other; all must succeed. Each can be put again
// as often as wanted, so that a failure of one leaves nothing to undo. What is put
// alone is visible to nobody before a head covers or names it.
func (p *step) put(ctx context.Context, records ...store.Record) error {
	if len(records) == 0 {
		return nil
	}
	p.env.Reach(env.PointPutResult, env.Before)
	defer p.env.Reach(env.PointPutResult, env.After)
	if len(records) == 1 {
		return p.putOne(ctx, records[0])
	}
	group, shared := p.env.Group(ctx)
	for _, record := range records[1:] {
		group.Go(func(ctx context.Context) error { return p.putOne(ctx, record) })
	}
	err := p.putOne(shared, records[0])
	return errors.Join(err, group.Wait())
}

// putOne puts a record until the store takes it, refuses it for good, or has
// failed often enough. The step's goroutine waits meanwhile: pauses add up to 3 s.
func (p *step) putOne(ctx context.Context, record store.Record) error {
	err := p.persist(ctx, func() error { return p.store.Put(ctx, p.Key, record) })
	if err != nil {
		return fmt.Errorf("put %s: %w", record.Name, err)
	}
	return nil
}

// persist repeats an access to the store that failed for a reason that may pass, with
// pauses, up to putFailures times or until ctx ends. It returns the last error.
func (p *step) persist(ctx context.Context, access func() error) error {
	for failures := 0; ; failures++ {
		err := access()
		if err == nil || ctx.Err() != nil || permanent(err) || failures == putFailures || p.env.Sleep(ctx, p.env.Jitter(putBase<<failures)) != nil {
			return err
		}
	}
}

// permanent reports whether a put failed for good. Anything else may pass, and
// the same bytes can always be put again; also an error that wraps a context's,
// which a client returns whose own try has timed out.
func permanent(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeConflict, core.CodeFenced, core.CodeSchema, core.CodeDeleted:
		return true
	}
	var refused *store.RefusedError
	return errors.As(err, &refused) || errors.Is(err, errOver)
}

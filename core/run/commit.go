package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// maxRefences bounds how often one commit takes a new fence.
const maxRefences = 8

// builds makes the records of a commit, without fence and version.
type builds func(next thread.Head, result thread.Result) ([]store.Record, error)

// commitTime is how long a commit may take that has begun: longer than the
// tries of the AWS client that no answer comes to, so that the head can still be
// asked what they came to.
const commitTime = 25 * time.Second

// commit applies a change under the step's claim. Where records that an earlier
// try of this claim has left behind stand in the way, it takes the next fence:
// change is asked again then, since it names the fence.
//
// Only the step's goroutine commits, but the watch renews the lease beside it.
// Both may lose a race to the other; the committer's loop then tries the same
// change on the newer head, which differs in nothing that the change is about.
//
// Effects of calls run here, at the one place that every write of a holder goes
// through, because each of them may be the one that moves a call to done.
//
// What has begun is seen through, though the host stops: else nobody would know
// what it came to. Nor may the watch stop it, which finds the claim gone as soon
// as the commit itself is applied.
func (p *step) commit(ctx context.Context, change func() thread.Change, build builds) (thread.Result, error) {
	if ctx.Err() != nil {
		return thread.Result{}, context.Cause(ctx)
	}
	until := p.env.Now().Add(commitTime)
	if !p.last.IsZero() && p.last.Before(until) {
		until = p.last
	}
	within, cancel := p.env.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	for try := 0; ; try++ {
		was := p.head
		head, result, err := p.committer.Commit(within, p.Key, p.head, change(), p.stamped(build))
		if errors.Is(err, store.ErrConflict) && try < maxRefences {
			if err := p.refence(within, head); err != nil {
				return result, err
			}
			continue
		}
		if errors.Is(err, store.ErrTooLarge) { // the same turn would come to the same size again
			return result, endWith("too_large", err)
		}
		if err != nil {
			return result, err
		}
		p.head, p.moved = head, true
		p.callEffects(ctx, was, head)
		return result, nil
	}
}

// claims reports whether the head still has the step's claim. A commit whose
// answer was lost may be found applied under a head that another worker has
// claimed since: what it made visible stands, and who goes on is the other.
func (p *step) claims() bool { return p.head.Claim.Fence == p.fence }

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
			switch records[i].Kind() {
			case store.KindLog:
				records[i].Fence = p.fence
			case store.KindRewrite:
				records[i].Fence, records[i].Version = p.fence, next.Version
			}
		}
		return records, err
	}
}

// refence takes the next fence, under which other bytes may go where this claim
// has put some. The watch may read the head between the write and the moment
// when the step knows its new fence, hence refencing: one fence more is no lost
// claim then.
func (p *step) refence(ctx context.Context, head thread.Head) error {
	p.refencing.Store(true)
	defer p.refencing.Store(false)
	head, _, err := p.committer.Commit(ctx, p.Key, head, thread.Refence{Fence: p.fence}, nil)
	if err != nil {
		return err
	}
	if p.head = head; head.Claim.Fence != p.fence+1 {
		return thread.ErrFenced // it was taken, and then another worker took the run
	}
	p.fence = head.Claim.Fence
	p.held.Store(p.fence)
	return nil
}

// logRecords encodes entries for the sequences from first on.
func (p *step) logRecords(first uint64, entries []thread.Entry) ([]store.Record, error) {
	var records []store.Record
	for i, entry := range entries {
		payload, err := p.records.EncodeEntry(entry)
		if err != nil {
			return nil, endWith("encoding", err)
		}
		records = append(records, store.Record{Name: store.LogName(first + uint64(i)), Payload: payload})
	}
	return records, nil
}

// runRecord encodes the run's record as it stands.
func (p *step) runRecord(r thread.RunRecord) (store.Record, error) {
	payload, err := p.records.EncodeRun(r)
	return store.Record{Name: store.RunName(r.ID), Payload: payload}, err
}

// commitTurn is commit A: the turn and the input before it become visible, and
// the places of the results are reserved. The tool round follows.
func (p *step) commitTurn(ctx context.Context, turn core.Message) (Stepped, error) {
	calls := len(turn.ToolCalls)
	if calls > thread.MaxCalls {
		return Stepped{}, endWith("too_many_calls", fmt.Errorf("the model asked for %d tool calls in one turn, at most %d are allowed", calls, thread.MaxCalls))
	}
	d, from := &p.draft, p.head.Seq
	_, err := p.commit(ctx, func() thread.Change {
		return thread.CommitTurn{
			Fence: p.fence, From: from, Seq: from + uint64(len(d.entries)), Calls: calls, TurnFence: p.events.fence, Consumed: d.consumed, Cut: d.cut,
			Batch: p.agent.Spec.Mode() == agent.ParallelBatchApproval,
		}
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		records, err := p.logRecords(from+1, d.entries)
		if err != nil || p.recorded {
			return records, err
		}
		record, err := p.runRecord(p.record)
		return append(records, record), err
	})
	if err != nil {
		return Stepped{}, err
	}
	p.round = newRound(turn, p.head.Run.Base)
	p.committed(ctx)
	p.round.before = p.draft.messages
	if !p.claims() {
		return Stepped{}, thread.ErrFenced
	}
	return p.runRound(ctx)
}

// committed takes the draft into the conversation and begins the next one. The
// effects of what was committed run now, after the cache knows of it: they may
// take long or take the process down, and nothing rolls them back. They see the
// state as it is after the commit.
func (p *step) committed(ctx context.Context) {
	p.recorded, p.modelFailed, p.unsaid = true, 0, nil
	p.remember()
	effects, c := p.draft.effects, p.context(plugin.Context{})
	p.begin()
	p.runEffects(ctx, c, effects)
}

// remember makes the conversation that the commit came to, and caches it: the
// next step of the thread in this process reads nothing. It folds the entries
// as a cold step would, instead of taking the draft's snapshot, so that warm and
// cold cannot drift apart.
func (p *step) remember() {
	b := build(p.conversation)
	for _, entry := range p.draft.entries {
		if err := b.add(entry); err != nil { // it was made from this very state
			p.log.Error("committed entries do not fold", append(p.attrs(), "error", err)...)
			return
		}
	}
	p.conversation = b.done(p.window)
	p.conversation.record = p.record
	p.cache.put(p.Key, p.conversation)
}

// ending is how a step's run goes on: not at all when it has a termination.
type ending struct {
	termination *core.Termination
	natural     bool // the model came to an end by itself: unread input makes it go on
}

// finish ends the step: its last phase, its remaining records, commit B.
func (p *step) finish(ctx context.Context, end ending) (Stepped, error) {
	if err := p.phase(ctx, plugin.Context{Phase: core.PhaseStepEnd}); err != nil {
		return Stepped{}, err
	}
	return p.commitStep(ctx, end)
}

// commitStep is commit B. What the head makes of it counts, see
// [thread.CommitStep], and the run's record says that: it is built from the
// result, since input may have come after the model's last look, or a listener
// of RunEnd may turn the end into a close.
//
// The results go before the step record, in the order of the log; those that
// were put alone are left out. The run's record is stored with its first commit,
// which a takeover needs it from, and when the run ends.
func (p *step) commitStep(ctx context.Context, end ending) (Stepped, error) {
	d, from, calls := &p.draft, p.head.Seq, 0
	if p.round != nil {
		calls = len(p.round.calls)
		p.takeResults()
	}
	if len(d.patches) > 0 {
		entry := thread.Entry{Run: p.id, Step: p.events.step}
		d.take(&entry)
		d.entries = append(d.entries, entry)
	}
	asked := thread.Yield
	if end.termination != nil {
		asked = thread.Done
		p.ending.Store(true) // before the write: the watch may see its head first
	}
	var record thread.RunRecord
	result, err := p.commit(ctx, func() thread.Change {
		return thread.CommitStep{
			Fence: p.fence, From: from, Outcome: asked, Natural: end.natural, Listens: p.listens(),
			Seq: from + uint64(len(d.entries)), Calls: p.allDone(), Consumed: d.consumed, Cut: d.cut,
			Schema: p.adopted(), Lease: p.lease.Milliseconds(), Keep: p.Keep,
		}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		records, err := p.logRecords(from+uint64(calls)+1, d.entries[calls:]) // behind the results
		if err != nil {
			return nil, err
		}
		if p.round != nil {
			records = append(records, p.round.unstored()...)
		}
		record = p.recordFor(next, result, end.termination)
		if result.Outcome != thread.Done && result.Outcome != thread.Close && p.recorded {
			return records, nil
		}
		stored, err := p.runRecord(record)
		return append(records, stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	p.record = record
	return p.stepped(ctx, result)
}

// recordFor is the run's record for an outcome. The ending names the version of
// the head that begins to close the run: a record that a refused commit has left
// behind names a version that never did, and is not believed.
func (p *step) recordFor(next thread.Head, result thread.Result, t *core.Termination) thread.RunRecord {
	r := p.record
	r.Steps, r.Usage = p.draft.totals.Steps, p.draft.totals.Usage
	r.Status = core.RunRunning
	switch result.Outcome {
	case thread.Wait:
		r.Status = core.RunWaiting
	case thread.Close:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		r.Response = lastText(p.draft.messages, r.ID) // the run reads as done from this head on
	case thread.Done:
		r.Ending = &thread.Ending{Version: next.Closing, Termination: *t}
		p.finalize(&r, t)
	}
	return r
}

// finalize makes a record say that its run is over.
func (p *step) finalize(r *thread.RunRecord, t *core.Termination) {
	r.Status, r.Termination, r.FinishedAt = core.RunDone, t, p.env.Millis()
	r.Response = lastText(p.draft.messages, r.ID)
}

// stepped is what follows commit B: the reader first, then effects, then the
// cache of the state, whose loss costs nothing.
func (p *step) stepped(ctx context.Context, result thread.Result) (Stepped, error) {
	if p.round != nil {
		p.round.allStored(&p.events)
		p.round = nil
	}
	p.events.emit(core.Event{Type: core.EventStepEnd})
	if result.Outcome == thread.Done {
		p.events.emit(core.Event{Type: core.EventRunFinish, RunID: p.record.ID, Response: p.record.Response, Termination: p.record.Termination})
		p.report(ctx, p.record.Run)
	}
	p.committed(ctx)
	if result.Outcome == thread.Close {
		return p.close(ctx)
	}
	p.storeSnapshot(ctx)
	if result.Outcome == thread.Continue && !p.claims() {
		return Stepped{Outcome: thread.Yield, Head: p.head}, nil
	}
	return Stepped{Outcome: result.Outcome, Head: p.head}, nil
}

// allDone are the statuses of a round that is over; nil without one.
func (p *step) allDone() []thread.CallStatus {
	if len(p.head.Run.Calls) == 0 {
		return nil
	}
	calls := make([]thread.CallStatus, len(p.head.Run.Calls))
	for i := range calls {
		calls[i] = thread.CallDone
	}
	return calls
}

// listens reports whether a plugin wants to know of the run's end.
func (p *step) listens() bool { return p.agent != nil && p.agent.Engine.Listens(core.PhaseRunEnd) }

// Retries of a put that is no commit: what a tool said is not thrown away for a
// passing fault of the store.
const (
	putFailures = 6
	putBase     = 50 * time.Millisecond
)

// put stores records beside each other; all must succeed. Each can be put again
// as often as wanted, so that a failure of one leaves nothing to undo.
func (p *step) put(ctx context.Context, records ...store.Record) error {
	if len(records) == 0 {
		return nil
	}
	p.env.Reach(env.PointPutResult, env.Before)
	defer p.env.Reach(env.PointPutResult, env.After)
	group, shared := p.env.Group(ctx)
	for _, record := range records[1:] {
		group.Go(func(ctx context.Context) error { return p.putOne(ctx, record) })
	}
	err := p.putOne(shared, records[0])
	return errors.Join(err, group.Wait())
}

func (p *step) putOne(ctx context.Context, record store.Record) error {
	for failures := 0; ; failures++ {
		err := p.store.Put(ctx, p.Key, record)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || permanent(err) || failures == putFailures || p.env.Sleep(ctx, p.env.Jitter(putBase<<failures)) != nil {
			return fmt.Errorf("put %s: %w", record.Name, err)
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
	return errors.As(err, &refused)
}

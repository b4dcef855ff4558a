package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/thread"
)

// submitInline submits and claims in one write, unless a suspect has the process
// to itself: then the run is left to the queue, and turn is nil, as when other
// work comes first.
//
// The turn comes before the claim, because a claim that has to be given back costs
// the thread a write and the run an attempt.
func (r *Runtime) submitInline(ctx context.Context, s mailbox.Submission) (receipt mailbox.Receipt, head thread.Head, n *turn, err error) {
	n = &turn{turns: r.turns} // it does not wait
	if !r.turns.try(n, false, false) {
		receipt, err = r.mailbox.Submit(ctx, s)
		return receipt, head, nil, err
	}
	n.attend(r.stepper, s.Thread)
	receipt, head, claimed, err := r.mailbox.SubmitAndClaim(ctx, s)
	if err != nil || !claimed {
		n.leave()
		return receipt, head, nil, err
	}
	return receipt, head, n, nil
}

// claimInline claims a run for a stream, if its thread's head lets it go on. It is left
// to the queue, with a nil turn, when it must run alone, a suspect does, or the
// time is short.
//
// The turn is taken before the claim and is the caller's with it. Whatever happens
// in between, a hint is on its way: the one that the decision holds back comes after
// the lease, so that a process that dies here delays the run and does not lose it.
func (r *Runtime) claimInline(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID) (thread.Head, *turn) {
	if head.Run.ID != runID || !head.Ready() || head.Run.AvailableAt > r.env.Millis() {
		return head, nil // somebody has it, or it waits: for other decisions, or for a model that was asked too often
	}
	n := &turn{turns: r.turns} // it does not wait
	if head.Suspect() || !r.timeLeft(ctx) || !r.turns.try(n, false, unlucky(head)) {
		r.wakeNow(ctx, key, head)
		return head, nil
	}
	n.attend(r.stepper, key)
	claimed, ok, err := r.mailbox.ClaimFrom(ctx, head, hintOf(key, head), false)
	if err != nil {
		r.log.WarnContext(ctx, "claim failed, the run is left to the queue", "tenant", key.Tenant, "thread", key.Thread, "run", runID, "error", err)
	}
	if err == nil && ok && claimed.Run.ID != runID { // it ended meanwhile, and the next one was open: not this stream's
		_, _, err := r.mailbox.Commit(ctx, key, claimed, thread.Nack{Fence: claimed.Claim.Fence, Kind: thread.NackGiven}, nil)
		if err != nil {
			r.log.WarnContext(ctx, "claim could not be given back", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		}
		ok = false
	}
	if err != nil || !ok {
		n.leave()
		return head, nil
	}
	return claimed, n
}

// inline steps in a loop under one claim, as long as it is kept: over input
// that comes at the end, too, but never into the next run. The follower goes on
// at what the reader has not seen whole. The turn is over then: a stream that
// follows is no work that a suspect would have to wait for.
//
// It never waits for the reader, however slow: the thread, its queue and a person's
// cancel would wait with it.
//
// What the reader was shown of a step is worth something only if the step is
// committed, or, of a tool round, if its turn is: results are stored one by one and
// shown behind their storing. Of anything else another claim makes its own, with
// other deltas, and the reader is told so by step_restarted.
func (f *follower) inline(ctx context.Context, head thread.Head, turn *turn) {
	defer turn.leave()
	ctx, leave := f.metered(ctx, f.key)
	defer leave()
	sink := f.audience.emit // one function value for all steps
	var followed int64
	for {
		f.goOn(head) // before the step: should it fail, the follower begins where it began
		stepped, err := f.stepper.Step(ctx, run.Work{Key: f.key, Head: head, Keep: f.timeLeft(ctx), Proved: turn.proved, Followed: followed}, sink)
		whole := err == nil && !stepped.Retry
		if whole || head.Run.Cursor == thread.CursorTools { // what it has shown of a committed turn's round is stored
			f.audience.stored()
		}
		if whole && stepped.Outcome != thread.Done {
			f.goOn(stepped.Head)
		}
		if left(err) { // somebody else has the run, or will; that is no error of this stream
			hint := core.WakeUp{Tenant: f.key.Tenant, Thread: f.key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
			err = f.handOn(ctx, hint, err)
		}
		if err != nil {
			f.log.ErrorContext(ctx, "inline run stopped, its stream goes on from commits", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
		}
		if !whole || stepped.Outcome != thread.Continue {
			f.shown.again = f.audience.restart(f.run)
			if err == nil { // a worker tells, since that may take longer than a stream should
				f.mailbox.WakeToTell(ctx, f.key, stepped.Head)
			}
			return
		}
		head, followed = stepped.Head, stepped.Followed
		turn.proved()
	}
}

// overtaken shows what somebody else has made visible of the run between the head that
// the stream has shown and the one that it has claimed: records, and results of a round
// that is open. A step announces what comes behind these alone, and its reader must have
// had them first. The run does not wait for the reader, who comes back when they cannot
// be read.
func (f *follower) overtaken(ctx context.Context, head thread.Head) {
	if f.audience.over() || head.Version == f.seen.Version+1 { // nothing but the claim came between
		return
	}
	f.hurry = true
	defer func() { f.hurry = false }()
	if _, _, err := f.show(ctx, head); err != nil && !f.audience.over() {
		f.audience.yield(f.run)
	}
}

// wakeNow sends the hint at once that an inline decision holds back. When it fails,
// the one that was held back comes after the lease, and then the sweep.
func (r *Runtime) wakeNow(ctx context.Context, key core.ThreadKey, head thread.Head) {
	if !head.Ready() {
		return
	}
	if err := r.mailbox.Wake(ctx, hintOf(key, head), 0); err != nil {
		r.log.WarnContext(ctx, "wake-up lost, a later one or the sweep finds the thread", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}

func hintOf(key core.ThreadKey, head thread.Head) core.WakeUp {
	return core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
}

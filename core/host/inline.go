package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// How a run is stepped in the process, and in the call, that streams it.

// submitInline submits and claims in one write, unless a suspect occupies the process:
// then the queue brings the run and the permit is nil, as when other work of the thread comes
// first.
//
// The permit precedes the claim: a claim that has to be released costs the thread a write
// and the run an attempt.
func (w *worker) submitInline(ctx context.Context, s mailbox.Submission) (receipt mailbox.Receipt, head thread.Head, _ *permit, err error) {
	permit := w.permits.newPermit()
	if !w.permits.tryAcquire(permit, false, false) {
		receipt, err = w.mailbox.Submit(ctx, s)
		return receipt, head, nil, err
	}
	permit.attend(w.stepper, s.Thread)
	receipt, head, permit.input, err = w.mailbox.SubmitAndClaim(ctx, s)
	if !receipt.Running { // also with an error
		permit.release()
		return receipt, head, nil, err
	}
	return receipt, head, permit, nil
}

// claimInline claims a run for a stream if its thread's head lets the run continue. The queue
// brings the run, and the permit is nil, if it is a suspect, another suspect runs,
// or the time is short.
//
// The permit precedes the claim and is the caller's from then on. No hint of the decision is on
// its way: if the process dies here, a stream that follows the run, or the sweep, finds it.
func (w *worker) claimInline(ctx context.Context, key core.ThreadKey, head thread.Head, runID core.ID) (thread.Head, *permit) {
	if head.Run.ID != runID || !head.Ready() || head.Run.AvailableAt > w.env.Millis() {
		return head, nil // another worker has it, or it waits: for other decisions, or for a model that refuses calls for now
	}
	permit := w.permits.newPermit()
	if head.Suspect() || !w.timeLeft(ctx) || !w.permits.tryAcquire(permit, false, unlucky(&head, w.env.Millis())) {
		w.wakeNow(ctx, key, head)
		return head, nil
	}
	permit.attend(w.stepper, key)
	claimed, ok, err := w.mailbox.ClaimInline(ctx, head, hintOf(key, head))
	if err != nil {
		w.log.WarnContext(ctx, "claim failed, run stays queued", "tenant", key.Tenant, "thread", key.Thread, "run", runID, "error", err)
	}
	if ok && claimed.Run.ID != runID { // the run has ended and the next one was open: it is not this stream's
		_, _, err := w.mailbox.Commit(ctx, key, claimed, thread.Nack{Fence: claimed.Claim.Fence, Kind: thread.NackGiven}, nil)
		if err != nil {
			w.log.WarnContext(ctx, "claim not released", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		}
		ok = false
	}
	if !ok { // also with an error
		permit.release()
		return head, nil
	}
	return claimed, permit
}

// runInline steps a claimed run for its stream, under the permit, which it releases: as
// long as the claim is kept, also with input that arrives at the run's end, but never into
// the next run. A follower continues where the reader has not seen a whole step. It needs
// no permit: a stream that follows is not work that a suspect would have to wait for.
//
// runInline never waits for the reader, however slow: the thread, its queue and a
// person's cancel would wait too.
//
// The events that the reader received of a step count only if the step is committed, or, for a
// tool round, if its turn is: results are stored one by one and shown after their write.
// Another claim makes the rest again, with other deltas, and step_restarted announces that.
func (w *worker) runInline(ctx context.Context, key core.ThreadKey, s *stream, head thread.Head, permit *permit) {
	defer permit.release()
	ctx, stop := w.meter.start(ctx, key)
	defer stop()
	// The events that a follower has shown before are committed, except the model's words under
	// an earlier claim: those are void. The steps emit to the audience itself, past
	// stream.emit.
	if s.unsaid.Run.IsZero() || head.Run.Cursor == thread.CursorTools {
		s.audience.stored()
	} else {
		s.restart()
	}
	sink, proved := s.audience.emit, permit.proved // one function value of each for all steps
	var followed int64
	for {
		s.skipTo(head) // before the step: if it fails, the follower starts where the step did
		stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head, Input: permit.input, Keep: w.keeps(ctx), Proved: proved, Followed: followed}, sink)
		whole := err == nil && !stepped.Retry && !stepped.Missed
		if whole || head.Run.Cursor == thread.CursorTools { // the results shown of a committed turn's round are stored
			s.audience.stored()
		}
		if whole && stepped.Outcome != thread.Done {
			s.skipTo(stepped.Head)
		}
		if lostClaim(err) { // another worker has the run, or will have it; that is not an error of this stream
			err = w.handOver(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}, err)
		}
		if err != nil {
			w.log.ErrorContext(ctx, "inline run stopped, stream follows its commits", "tenant", key.Tenant, "thread", key.Thread, "run", s.run, "error", err)
		}
		if !whole || stepped.Outcome != thread.Continue {
			s.restart()
			if err == nil { // a worker delivers, since that may take longer than a stream should
				w.mailbox.WakeToDeliver(ctx, key, stepped.Head)
			}
			return
		}
		head, followed = stepped.Head, stepped.Followed
		permit.proved()
	}
}

package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Stream submits and shows the run as it happens: inline when the thread is
// free, from its commits when other work comes first or the same submission was
// accepted before. It returns after run_finish, or run_yield when the time is
// over and the run goes on in the queue. A refused submission is an error
// before the first event. That the sink's reader goes away, or ctx is
// cancelled, does not end the run: only a deadline does.
func (r *Runtime) Stream(ctx context.Context, s mailbox.Submission, sink run.Sink) (mailbox.Receipt, error) {
	if err := r.known(s); err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, head, claimed, err := r.mailbox.SubmitAndClaim(ctx, s)
	if err != nil {
		return receipt, err
	}
	if !claimed {
		return receipt, r.followRun(ctx, s.Thread, receipt.RunID, receipt.DispatchID, sink)
	}
	finished, err := r.inline(ctx, s.Thread, head, sink)
	if err != nil || finished {
		return receipt, err
	}
	return receipt, r.rest(ctx, s.Thread, receipt, sink)
}

// inline steps in a loop under one claim. finished says that the run's last
// event was emitted.
func (r *Runtime) inline(ctx context.Context, key core.ThreadKey, head thread.Head, sink run.Sink) (finished bool, err error) {
	work, cancel := detach(ctx)
	defer cancel()
	watched := func(e core.Event) error {
		finished = finished || e.Type == core.EventRunFinish
		return sink(e)
	}
	for {
		result, err := r.stepper.Step(work, run.Claim{Key: key, Head: head, Keep: r.timeLeft(work)}, watched)
		if errors.Is(err, thread.ErrFenced) {
			return finished, nil
		}
		if err != nil {
			return finished, err
		}
		if result.Outcome == thread.Continue {
			head = result.Head
			continue
		}
		if result.Outcome != thread.Yield || !r.timeLeft(work) {
			return finished, nil
		}
		// The step was given back, or input came at the end: go on if we may.
		next, claimed, err := r.mailbox.Claim(work, key)
		if err != nil || !claimed || next.Run.ID != head.Run.ID {
			return finished, err
		}
		head = next
	}
}

// rest ends a stream whose run went on elsewhere: it follows while time is left.
func (r *Runtime) rest(ctx context.Context, key core.ThreadKey, receipt mailbox.Receipt, sink run.Sink) error {
	if !r.timeLeft(ctx) || ctx.Err() != nil {
		_ = sink(core.Event{Type: core.EventRunYield, RunID: receipt.RunID})
		return nil
	}
	if sink(core.Event{Type: core.EventStepRestarted, RunID: receipt.RunID}) != nil {
		return nil
	}
	return r.followRun(ctx, key, receipt.RunID, receipt.DispatchID, sink)
}

// detach keeps a context's values and deadline, not its cancellation: a client
// that goes away is not a cancel.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline)
	}
	return context.WithCancel(free)
}

// Follow shows a run from its first event and goes on until it is done or
// waits. It also ends when ctx does or nobody listens.
func (r *Runtime) Follow(ctx context.Context, id core.Identity, runID core.ID, sink run.Sink) error {
	key, dispatch, _, err := r.locate(ctx, id, runID)
	if err != nil {
		return err
	}
	return r.followRun(ctx, key, runID, dispatch, sink)
}

// followRun feeds a stream from commits.
func (r *Runtime) followRun(ctx context.Context, key core.ThreadKey, runID, dispatch core.ID, sink run.Sink) error {
	var replayer *run.Replayer
	next := uint64(0)
	for {
		head, err := r.mailbox.Head(ctx, key)
		if err != nil {
			return err
		}
		record, ok, err := r.mailbox.Run(ctx, key, head, runID, dispatch)
		if err != nil {
			return err
		}
		if !ok {
			return core.Errorf(core.CodeNotFound, "run %s not found", runID)
		}
		if record.Status != core.RunCreated {
			if replayer == nil {
				replayer = run.NewReplayer(record, sink)
			}
			if next == 0 {
				next = record.FirstSeq // 0 until the first step has committed
			}
			next, err = r.replay(ctx, key, runID, next, head.Seq, replayer)
			if errors.Is(err, errReaderGone) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if record.Status == core.RunDone || record.Status == core.RunWaiting || !r.timeLeft(ctx) {
			if replayer == nil {
				replayer = run.NewReplayer(record, sink)
			}
			_ = replayer.Finish(record) // its error is a reader that went away
			return nil
		}
		if r.env.Sleep(ctx, r.follow) != nil {
			return nil
		}
	}
}

// replay emits the run's records from next up to seq and answers where the next
// one will be.
func (r *Runtime) replay(ctx context.Context, key core.ThreadKey, runID core.ID, next, seq uint64, replayer *run.Replayer) (uint64, error) {
	if next == 0 || next > seq {
		return next, nil
	}
	for record, err := range r.store.Log(ctx, key, next, seq) {
		if err != nil {
			return next, fmt.Errorf("read log of %s: %w", key, err)
		}
		if record.Name != store.LogName(next) {
			return next, fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", key, record.Name, next, store.ErrCorrupt)
		}
		entry, err := thread.DecodeEntry(record.Payload)
		if err != nil {
			return next, err
		}
		if entry.Run != runID {
			return next, nil // the next run has begun
		}
		if replayer.Add(entry, record.Fence) != nil {
			return next, errReaderGone
		}
		next++
	}
	return next, nil
}

// errReaderGone ends a follow whose reader went away; nobody is told.
var errReaderGone = errors.New("reader is gone")

package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// ErrGoneOn refuses to take a run up that others have come behind: what it would go on
// from is not the end of the thread any more.
var ErrGoneOn = core.Errorf(core.CodeConflict, "the thread has gone on since: allowed is the run that wrote to it last")

// TakeUp goes on with a run that ended with an error where its last commit left it:
// nothing is said twice, and calls keep the results that they have. It is a run of its
// own, with the earlier one's agent, origin, pin and request; state of the run's scope has
// ended with that. It opens before whatever comes meanwhile. The same call again returns
// the same run. One that fails as well can be taken up in its turn, also when it has come to
// no commit.
//
// thread.ErrNotFound: the thread does not know the run. thread.ErrBusy: it is not
// over, or another is open or queued. core.CodeConflict: it ended otherwise, or is
// ErrGoneOn.
func (s *Service) TakeUp(ctx context.Context, key core.ThreadKey, user string, run core.ID) (Receipt, error) {
	u := submission{Service: s, run: s.env.NewID(), dispatch: s.env.NewID(),
		Submission: Submission{Thread: key, User: user, Mode: ModeReject}}
	head, err := s.Head(ctx, key)
	if err == nil {
		err = checkAccess(head, user)
	}
	if err == nil {
		u.Key.Value, err = u.freeKey(ctx, head, "take_up:", run)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("take up run %s: %w", run, err)
	}
	if head, err = u.look(ctx); err != nil {
		return Receipt{}, err
	}
	u.Opening.Priority = new(uint8) // nobody comes between: it opens first
	receipt, err := u.takeUp(ctx, head, run)
	defer func() { u.settle(ctx, receipt.RunID, err) }()
	if taken, ok := errors.AsType[*takenError](err); ok { // the same came at the same time
		if err := u.adopt(taken.pointers[0].Value); err != nil {
			return Receipt{}, err
		}
		if head, err = s.Head(ctx, key); err == nil {
			receipt, err = u.takeUp(ctx, head, run)
		}
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("take up run %s: %w", run, s.outward(ctx, key, "run", err))
	}
	return receipt, nil
}

func (u *submission) takeUp(ctx context.Context, head thread.Head, run core.ID) (Receipt, error) {
	receipt := Receipt{ThreadID: u.Thread.Thread, RunID: u.run, DispatchID: u.dispatch}
	if u.known {
		found, err := u.again(ctx, head, &receipt)
		if found || err != nil {
			return receipt, err
		}
	}
	record, err := u.failed(ctx, head, run)
	if err != nil {
		return Receipt{}, err
	}
	if err := u.admit(ctx, head); err != nil {
		return Receipt{}, err
	}
	receipt.RunID, receipt.DispatchID = u.run, u.dispatch
	input, err := u.inputRecord(thread.Queued{
		Run: u.run, Dispatch: u.dispatch, AgentID: record.AgentID, Origin: record.Origin, Request: record.Request, Frontend: record.Frontend, Resolution: record.Resolution, TakesUp: run,
	}, 0)
	if err != nil {
		return Receipt{}, err
	}
	listings := func(next thread.Head) ([]store.Record, error) {
		if next.Seq != head.Seq {
			return nil, ErrGoneOn
		}
		return u.listings(next)
	}
	pointers := u.pointers()
	_, result, err := u.enqueue(ctx, head, pointers, func(next thread.Head) ([]store.Record, error) {
		records, err := listings(next)
		return append([]store.Record{input}, records...), err
	})
	if errors.Is(err, store.ErrConflict) { // another program has stored its words, under the same ids
		_, result, err = u.overStored(ctx, head, input.Name, pointers, listings)
	}
	receipt.Duplicate = result.Duplicate
	return receipt, err
}

// failed reads a run that can be taken up: it ended with an error, and the log ends
// with it, or with the one that it has taken up itself.
func (u *submission) failed(ctx context.Context, head thread.Head, run core.ID) (r thread.RunRecord, err error) {
	if _, live := head.RunStatus(run); live {
		return r, fmt.Errorf("it is not over: %w", thread.ErrBusy)
	}
	r, ok, err := u.runRecord(ctx, u.Thread, run)
	switch {
	case err != nil:
		return r, err
	case !ok || head.Seq == 0:
		return r, thread.ErrNotFound
	case terminationOf(r) != core.TerminationError:
		return r, core.Errorf(core.CodeConflict, "it ended with %q: allowed is one that ended with %q", terminationOf(r), core.TerminationError)
	}
	last, err := store.ReadLog(ctx, u.store, u.records, u.Thread, head.Seq, head.Seq)
	if err == nil {
		err = u.checkLast(ctx, &r, last[0].Run)
	}
	return r, err
}

// checkLast refuses a run behind which others have written. One that has taken another up
// and has failed before it could write stands where that has left the log.
func (u *submission) checkLast(ctx context.Context, r *thread.RunRecord, wrote core.ID) error {
	for at, dispatch := r.ID, r.Dispatch; at != wrote; {
		in, err := u.queuedInput(ctx, dispatch, 0)
		if err != nil {
			return err
		}
		if in.TakesUp.IsZero() {
			return ErrGoneOn
		}
		before, _, err := u.runRecord(ctx, u.Thread, in.TakesUp)
		if err != nil {
			return err
		}
		at, dispatch = in.TakesUp, before.Dispatch
	}
	return nil
}

// freeKey is the key of what is done with a run: the one of the run itself or, where
// what was done under that ended before it began, the one of the run that it was to be.
func (u *submission) freeKey(ctx context.Context, head thread.Head, kind string, run core.ID) (string, error) {
	for {
		key := kind + run.String()
		p, ok, err := u.byKey(ctx, key)
		if err != nil || !ok {
			return key, err
		}
		if began, err := u.began(ctx, head, p.Run, p.Dispatch); err != nil || began {
			return key, err
		}
		run = p.Run
	}
}

// began reports whether a run did not end before it was opened: an audit says so of one that
// was queued, and may be left by a try that was refused.
func (u *submission) began(ctx context.Context, head thread.Head, run, dispatch core.ID) (bool, error) {
	if head.Open() && head.Run.ID == run {
		return true, nil
	}
	if _, ended, err := u.ended(ctx, u.Thread, head, dispatch); err != nil || !ended {
		return true, err
	}
	_, opened, err := u.runRecord(ctx, u.Thread, run)
	return opened, err
}

func terminationOf(r thread.RunRecord) core.TerminationType {
	if r.Termination == nil {
		return ""
	}
	return r.Termination.Type
}

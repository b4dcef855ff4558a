package mailbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// errGoneOn refuses to take up a run after which others have written to the thread: what it
// would continue from is no longer the end of the thread.
var errGoneOn = core.Errorf(core.CodeConflict, "a later run has written to the thread: only the newest run can be taken up")

// takeUpKind begins the keys of submissions that take a run up. No other key begins so.
const takeUpKind = "take_up:"

// TakeUp continues a run that ended with an error, from its last commit: no input is
// repeated, and calls keep the results that they have. The continuation is a new run, with the
// earlier one's agent, origin, pin and request; state of the run's scope has ended with the
// earlier run. It opens before any input that comes until then. The same call again returns
// the same run. A continuation that fails too can be taken up in turn, also if it has committed
// nothing.
//
// thread.ErrNotFound: the thread does not know the run. thread.ErrBusy: it is not over, or
// another is open or queued. core.CodeConflict: it ended otherwise, or a later run exists.
func (s *Service) TakeUp(ctx context.Context, key core.ThreadKey, user string, run core.ID) (Receipt, error) {
	u := submission{s: s, ids: ids{s.env.NewID(), s.env.NewID()}, in: Submission{Thread: key, User: user, Mode: ModeReject}}
	head, err := s.Head(ctx, key)
	if err == nil {
		err = checkAccess(head, user)
	}
	if err == nil {
		u.in.Key.Value, err = s.reads.freeKey(ctx, key, head, takeUpKind, run)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("take up run %s: %w", run, err)
	}
	if head, err = u.look(ctx); err != nil {
		return Receipt{}, err
	}
	u.in.Opening.Priority = new(uint8) // it opens first, so that no run comes between; the Key does not cover it
	receipt, err := u.continueRun(ctx, head, run)
	defer func() { u.releaseUnused(ctx, receipt.RunID, err) }()
	if taken, ok := errors.AsType[*pointerError](err); ok { // the same call came at the same time
		if err := u.adopt(taken.pointers[0].Value); err != nil {
			return Receipt{}, err
		}
		if head, err = s.Head(ctx, key); err == nil {
			receipt, err = u.continueRun(ctx, head, run)
		}
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("take up run %s: %w", run, s.outward(ctx, key, "run", err))
	}
	return receipt, nil
}

// continueRun makes the continuation durable under the submission's ids, or finds that an
// earlier attempt has made it. The run must be the last one of the thread on the head that
// is written too.
// Its input has no messages: it names the run that it continues, from which the step reads
// conversation and open round.
func (u *submission) continueRun(ctx context.Context, head thread.Head, run core.ID) (Receipt, error) {
	receipt := u.receipt()
	if u.known {
		found, err := u.repeated(ctx, head, &receipt)
		if found || err != nil {
			return receipt, err
		}
	}
	record, err := u.s.reads.failedRun(ctx, u.in.Thread, head, run)
	if err != nil {
		return Receipt{}, err
	}
	if err := u.admit(ctx, head); err != nil {
		return Receipt{}, err
	}
	receipt = u.receipt()
	before, err := u.s.reads.listing(ctx, u.in.Thread, run)
	if err != nil {
		return Receipt{}, err
	}
	in := thread.Queued{
		Run: u.ids.run, Dispatch: u.ids.dispatch, AgentID: record.AgentID, Origin: record.Origin, Request: record.Request, Frontend: record.Frontend,
		Resolution: record.Resolution, TakesUp: run,
	}
	_, result, err := u.write(ctx, head, in, func(next thread.Head) ([]store.Record, error) {
		// Others have written since the look: the continuation would start after them.
		if next.Seq != head.Seq {
			return nil, errGoneOn
		}
		return u.listingsOf(next, &in, before.Asked)
	})
	receipt.Duplicate = result.Duplicate
	return receipt, err
}

// failedRun reads a run that can be taken up: it ended with an error, and the log ends with
// it, or with the run that it has taken up itself.
// The errors are those of TakeUp.
func (r reader) failedRun(ctx context.Context, key core.ThreadKey, head thread.Head, run core.ID) (record thread.RunRecord, err error) {
	if _, live := head.RunStatus(run); live {
		return record, fmt.Errorf("it is not over: %w", thread.ErrBusy)
	}
	record, ok, err := r.runRecord(ctx, key, run)
	switch {
	case err != nil:
		return record, err
	case !ok || head.Seq == 0:
		return record, thread.ErrNotFound
	case terminationOf(record) != core.TerminationError:
		return record, core.Errorf(core.CodeConflict, "it ended with %q: allowed is one that ended with %q", terminationOf(record), core.TerminationError)
	}
	last, err := threadlog.Read(ctx, r.store, r.records, key, head.Seq, head.Seq)
	if err == nil {
		err = r.checkWroteLast(ctx, key, &record, last[0].Run)
	}
	return record, err
}

// checkWroteLast refuses a run after which others have written; wrote is the run of the
// last log record. A run that has taken another up, and failed before it could write,
// continues from where that one left the log.
func (r reader) checkWroteLast(ctx context.Context, key core.ThreadKey, record *thread.RunRecord, wrote core.ID) error {
	for at, dispatch := record.ID, record.Dispatch; at != wrote; {
		in, err := r.queuedInput(ctx, key, dispatch, 0)
		if err != nil {
			return err
		}
		if in.TakesUp.IsZero() {
			return errGoneOn
		}
		before, _, err := r.runRecord(ctx, key, in.TakesUp)
		if err != nil {
			return err
		}
		at, dispatch = in.TakesUp, before.Dispatch
	}
	return nil
}

// terminationOf is how a run ended; empty: it has not, or its record does not say.
func terminationOf(r thread.RunRecord) core.TerminationType {
	if r.Termination == nil {
		return ""
	}
	return r.Termination.Type
}

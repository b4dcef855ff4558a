package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// maxRemedies bounds how often a step changes its way: from stepping to failing
// to closing is the longest.
const maxRemedies = 4

// A step goes wrong in one of four ways, which this file chooses between: stop
// silently (the claim is another's), close (the run was ended from outside), fail
// (another attempt cannot succeed), release (everything else).

// run guards the step with a watch on the head and turns an error into the right
// end. A remedy is work like any other and is watched, too: a run that fails may be
// cancelled while it does, and a close may lose its claim. It gets a separate
// context when the step's is over.
func (m *machine) run(ctx context.Context) (Stepped, error) {
	defer func() {
		if err := m.holder.shared.chunks.Err(); err != nil {
			m.holder.warn(ctx, "live events not stored for other readers", "error", err)
		}
	}()
	m.holder.stepBegan = m.holder.beganAt()
	m.draft.at = m.holder.stepBegan
	if deadline, ok := ctx.Deadline(); ok {
		m.holder.last = deadline.Add(afterDeadline)
	}
	stepped, err := m.holder.watched(ctx, m.work)
	// A remedy may itself fail, and need another: fail meets a cancel, a close
	// finds that its claim is lost. The claim is released when none is left.
	for remedies := 0; err != nil; remedies++ {
		remedy := m.remedy(ctx, err)
		if remedy == nil || remedies == maxRemedies {
			return m.giveBack(ctx, err)
		}
		free, cancel := m.holder.detached(ctx)
		stepped, err = m.holder.watched(free, remedy)
		cancel()
	}
	stepped.Missed = m.missed
	if stepped.Outcome == thread.Continue { // news since the commit is the next step's
		m.holder.hearHead()
		stepped.Head = m.holder.head
	}
	return stepped, nil
}

// work is the work under the claim as it was found, if the claim still holds: if
// the process learned of it when its lease was over, it may be another's. No code
// runs before that is known, above all no model.
func (m *machine) work(ctx context.Context) (Stepped, error) {
	if m.holder.head.Claim.Lease < m.holder.env.Millis() {
		if err := m.holder.refence(ctx, m.holder.head); err != nil {
			return Stepped{}, err
		}
		if m.holder.head.Run.Cursor != thread.CursorTools {
			m.holder.events.SetFence(m.holder.fence())
		}
	}
	if m.holder.head.Run.Status == thread.Closing {
		return m.closeRun(ctx)
	}
	return m.advance(ctx)
}

// remedy is the treatment of an error other than releasing the claim; nil: none.
// The order matters: a lost claim beats everything. An end from outside beats a
// failure of the step (a person's cancel makes a model call fail), and a failure
// that has an end for the run beats the clock.
func (m *machine) remedy(ctx context.Context, err error) func(context.Context) (Stepped, error) {
	fail := func(t core.Termination) func(context.Context) (Stepped, error) {
		if m.holder.head.Run.Status == thread.Closing {
			return nil // closeRun has failed; another claim tries again
		}
		return func(ctx context.Context) (Stepped, error) { return m.fail(ctx, t, err) }
	}
	var end *ended
	var lacks *lacking
	switch {
	case errors.Is(err, thread.ErrFenced), errors.Is(err, thread.ErrDeleted), errors.Is(err, thread.ErrApplied): // nothing remains to be done
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return m.closeRun
	case errors.As(err, &lacks): // released
	case errors.As(err, &end):
		return fail(end.termination)
	case core.CodeOf(err) == core.CodeCorrupt: // no later claim could read it either
		return fail(core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "the stored thread cannot be read"})
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && m.holder.whole && m.base.agent != nil && !m.progressed():
		return fail(core.Termination{Type: core.TerminationError, Code: "timeout", Detail: "the step did not finish within a whole invocation"})
	}
	return nil
}

// progressed reports whether the step brought a commit or a newly done call:
// one whose result is still to be stored counts.
func (m *machine) progressed() bool {
	return m.holder.moved || m.tools != nil && m.tools.round.calls.ahead(m.holder.head.Run.Calls)
}

// Which pause is waited where: here it is only written into the head, and the
// mailbox wakes the run when it is over. No process waits.

// Step takes one step of the claimed run and commits it, emitting events as they
// happen; a nil sink discards them. The events of Work.Head are not emitted: the
// listener has received them, results of the open round among them, and would
// otherwise receive positions out of order. An error means that nothing was handed
// on: store.ErrFenced that a later claim has the run, thread.ErrApplied that the
// lease decides which worker continues, anything else that the store did not take
// it.
func (s *Stepper) Step(ctx context.Context, w Work, sink history.Sink) (Stepped, error) {
	ctx = core.WithIdentity(ctx, core.Identity{Tenant: w.Key.Tenant, User: w.Head.Owner})
	m := s.newMachine(w, sink)
	s.under.enter(w.Key, &m.holder.shared)
	defer s.under.exit(w.Key, &m.holder.shared)
	m.holder.began()
	stepped, err := m.run(ctx)
	m.holder.reported(m.base.agentID())
	if err != nil {
		return stepped, fmt.Errorf("run %s of thread %s: %w", w.Head.Run.ID, w.Key, err)
	}
	return stepped, nil
}

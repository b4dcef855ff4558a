package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// finishStep ends the step: its last phase, its remaining records, commit B. StepEnd
// runs once for a step, when its round has closed, and sees all results.
func (m *machine) finishStep(ctx context.Context, end ending) (Stepped, error) {
	m.draft.at = m.lastSaid()
	if err := m.phase(ctx, core.PhaseStepEnd, engine.Moment{}); err != nil {
		return Stepped{}, err
	}
	return m.commitStep(ctx, end)
}

// commitStep makes commit B, and continues from the head that results from it. The
// results go before the step record, in the order of the log; those that were put
// alone are omitted.
func (m *machine) commitStep(ctx context.Context, end ending) (Stepped, error) {
	w := &stepWrite{natural: end.natural, listens: m.base.listens(), recorded: m.base.recorded, done: m.holder.allDone(), lacks: m.holder.lacks, keep: m.holder.keep}
	if r := m.tools.known(); r != nil {
		w.calls, w.adopted = r.calls, r.schemaMet()
		r.addResults()
	}
	m.draft.addStep()
	var at int64
	if end.termination != nil {
		m.holder.shared.hold.ending.Store(true) // before the write: the watch may see its head first
		at = m.holder.endedAt()
	}
	w.log, w.run = newLogPart(&m.holder, &m.draft), newRunPart(&m.holder, &m.base, &m.draft, end.termination, m.form, at)
	w.lease, w.followed = m.holder.s.lease.Milliseconds(), m.holder.shared.chunks.Followed()
	p, result, err := m.save(ctx, w)
	// The outcome of the step is stored whole or not at all: if it is not its
	// record of the run that is too large, the run fails instead.
	for again := end.termination != nil; again; {
		if again, err = m.shrinks(ctx, err, thread.FormCut); again {
			w.run.form = m.form
			p, result, err = m.save(ctx, w)
		}
	}
	if err != nil {
		m.form = thread.FormWhole // of another end, which says less
		return Stepped{}, err
	}
	m.base.record = p.run
	m.holder.account.Report(p.settled)
	return m.stepped(ctx, result)
}

// stepped follows commit B: the reader first, then effects, then the cache of the
// state, whose loss costs nothing. The slot is released before a reader receives
// the end, so that a client that then starts the next run finds it free. Nothing of
// this fails the step: the work that the commit handed on may be under way in
// another process by now. A run that still owes something to its end is closed by
// this claim.
func (m *machine) stepped(ctx context.Context, result thread.Result) (Stepped, error) {
	if m.tools != nil {
		m.tools.round.allStored()
		m.tools = nil
	}
	announceChanges(&m.holder.events, m.draft.entries)
	announceState(&m.holder.events, m.draft.snapshot)
	if result.Outcome == thread.Done {
		m.releaseSlot(ctx)
	}
	m.holder.events.StepEnd(m.draft.at)
	m.holder.stepOver(m.base.record.AgentID)
	if result.Outcome == thread.Done {
		m.holder.events.Finish(&m.base.record.Run)
		m.holder.report(ctx, &m.base.record.Run)
	}
	m.committed(ctx)
	if result.Outcome == thread.Close {
		return m.closeRun(ctx)
	}
	m.base.storeSnapshot(ctx, &m.holder) // last: the claim may be gone, and its next holder needs none of this
	return m.holder.handedOn(result.Outcome), nil
}

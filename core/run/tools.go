package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/thread"
)

// commitTurn is commit A: the turn and the input before it become visible, and
// the places of the results are reserved. It comes before any call is looked at:
// from here on every claim runs the calls of this very turn, with the same keys,
// and a reader who was shown the turn keeps it. The tool round follows.
func (m *machine) commitTurn(ctx context.Context, turn *core.Message) (Stepped, error) {
	calls := len(turn.ToolCalls)
	if calls > thread.MaxCalls {
		return Stepped{}, endWith("too_many_calls", fmt.Errorf("the model asked for %d tool calls in one turn, at most %d are allowed", calls, thread.MaxCalls))
	}
	w := &turnWrite{
		log: m.draft.logPart(), calls: calls, turnFence: m.holder.events.Fence(), batch: m.base.agent.Spec.Mode() == agent.ParallelBatchApproval, lacks: m.holder.lacks,
	}
	if !m.base.recorded { // the input is read only before this write
		w.run = &m.base.record
	}
	if _, _, err := m.draft.save(ctx, nil, w); err != nil {
		return Stepped{}, err
	}
	// A new round, with the places that the head has reserved for it.
	m.holder.proves()
	m.draft.announceChanges()
	m.committed(ctx)
	m.round = newRound(&m.holder, &m.base, &m.draft, *turn, m.holder.head.Run.Base)
	m.round.found = true    // no claim came to its calls before
	if !m.holder.claims() { // the commit stands, and another worker runs its calls
		return Stepped{}, thread.ErrFenced
	}
	return m.runRound(ctx)
}

// tools goes on with the round of a turn that an earlier step committed.
func (m *machine) tools(ctx context.Context) (Stepped, error) {
	m.draft.enter(int(m.holder.head.Run.Step))
	r, err := openRound(ctx, &m.holder, &m.base, &m.draft)
	// A round that could be read in part counts: the nack must say the schemas that
	// it has met, and results that were adopted are done.
	if m.round = r; err != nil {
		return Stepped{}, err
	}
	return m.runRound(ctx)
}

// runRound takes the round as far as it goes and ends the step: when every call
// has its result, or when those that have none wait for decisions. This is where
// it is decided that a run waits: a call is open and nothing of the round can run.
//
// The stop policies are asked before the calls, and by a takeover again, of the
// same turn and totals: a run that is to stop starts no tool.
func (m *machine) runRound(ctx context.Context) (Stepped, error) {
	r := m.round
	r.mode = r.chooseMode()
	end, err := m.draft.judge(r.turn, nil, r.earlier())
	if err != nil {
		return Stepped{}, err
	}
	if end != nil {
		err = r.concludeOpen(ctx, "not executed: "+end.Code)
	} else {
		err = r.schedule(ctx)
	}
	if err != nil {
		return Stepped{}, err
	}
	// Also of a round that waits: hooks of the finished calls run now, and a decision
	// that comes in a week finds their values stored.
	if err := r.mergeRound(ctx); err != nil {
		return Stepped{}, err
	}
	if r.open() {
		return m.commitWait(ctx)
	}
	if end == nil {
		end = r.end()
	}
	// A stop for the errors of this very round must not cost another inference first.
	if m.draft.totals.EndStep(r.failed()); end == nil && r.failed() {
		if end, err = m.draft.judge(r.turn, nil, r.earlier()); err != nil {
			return Stepped{}, err
		}
	}
	if end == nil {
		end = m.draft.stopped()
	}
	return m.finishStep(ctx, ending{termination: end})
}

// commitWait ends the step while calls wait for decisions. What the head makes of
// it counts: when a decision has come meanwhile, or a person's input, the run goes
// on at once. StepEnd has not run then; it belongs to the round's end.
func (m *machine) commitWait(ctx context.Context) (Stepped, error) {
	r := m.round
	p, result, err := m.draft.save(ctx, r, &waitWrite{
		round: r.callPart(nil), run: m.draft.runPart(nil, thread.FormWhole, m.holder.env.Millis()), open: r.values(), seq: m.holder.head.Seq,
		lacks: r.holder.lacks, keep: m.holder.keep, lease: m.holder.lease.Milliseconds(), followed: m.holder.shared.chunks.Followed(),
	})
	if err != nil {
		return Stepped{}, err
	}
	m.base.record = p.run
	m.holder.account.Report(p.settled)
	if result.Outcome == thread.Wait {
		m.draft.releaseSlot(ctx, m.draft.totals)
	}
	r.announceTickets()
	if result.Outcome == thread.Wait {
		m.holder.report(ctx, m.base.record.Run)
	}
	m.round = nil
	m.forget() // all of it is stored: a step that goes on reads it back, as another worker would
	return m.holder.handedOn(result.Outcome), nil
}

package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// commitTurn is commit A: the turn and the input before it become visible, and
// the places of the results are reserved. It comes before any call can act: from
// here on every claim runs the calls of this very turn, with the same keys, and a
// reader who was shown the turn keeps it. Calls that only read may run beside it
// (early.go). The tool round follows.
func (m *machine) commitTurn(ctx context.Context, turn *core.Message) (Stepped, error) {
	calls := len(turn.ToolCalls)
	if calls > thread.MaxCalls {
		return Stepped{}, endWith("too_many_calls", fmt.Errorf("the model asked for %d tool calls in one turn, at most %d are allowed", calls, thread.MaxCalls))
	}
	w := &turnWrite{
		log: newLogPart(&m.holder, &m.draft), calls: calls, turnFence: m.holder.events.Fence(),
		batch: m.base.agent.Spec.Mode() == agent.ParallelBatchApproval, lacks: m.holder.lacks,
	}
	if !m.base.recorded { // the input is read only before this write
		w.run = m.base.record
	}
	t := m.startBeside(ctx, turn)
	defer t.drop(ctx) // unless the turn is committed
	if _, _, err := m.save(ctx, w); err != nil {
		m.begun = t
		return Stepped{}, err
	}
	m.holder.proves()
	announceChanges(&m.holder.events, m.draft.entries)
	m.committed(ctx)
	if t == nil { // a new round, with the places that the head has reserved for it
		t = newToolRound(&m.holder, &m.base, &m.draft, *turn, m.holder.head.Run.Base)
	}
	t.begin()
	m.tools = t
	if !m.holder.claims() { // the commit remains, and another worker runs its calls
		return Stepped{}, thread.ErrFenced
	}
	t.scheduler.turnVisible()
	return m.runRound(ctx)
}

// goOnWithRound continues the round of a turn that an earlier step committed.
func (m *machine) goOnWithRound(ctx context.Context) (Stepped, error) {
	m.enter(int(m.holder.head.Run.Step))
	t, err := openRound(ctx, &m.holder, &m.base, &m.draft)
	// A round that could be read in part counts: the nack must say the schemas that
	// it has met, and results that were adopted are done.
	if m.tools = t; err != nil {
		return Stepped{}, err
	}
	return m.runRound(ctx)
}

// runRound takes the round as far as possible and ends the step: when every call
// has its result, or when those that have none wait for decisions. This is where it
// is decided that a run waits: a call is open and nothing of the round can run.
//
// The stop policies judge before the calls, and in a takeover again, the same turn
// and totals: a run that is to stop starts no tool.
func (m *machine) runRound(ctx context.Context) (Stepped, error) {
	t := m.tools
	t.round.chooseMode()
	var end *core.Termination
	var err error
	if !t.judged {
		end, err = m.judge(t.round.turn, nil, t.merger.earlier(), answer{})
	}
	if err != nil {
		return Stepped{}, err
	}
	if end != nil {
		err = t.line.concludeOpen(ctx, "not executed: "+end.Code)
	} else {
		err = t.scheduler.run(ctx)
	}
	if err != nil {
		return Stepped{}, err
	}
	// Also of a round that waits: hooks of the finished calls run now, and a decision
	// that comes in a week finds their values stored.
	if err := t.merge(ctx); err != nil {
		return Stepped{}, err
	}
	if t.round.calls.open() {
		return m.commitWait(ctx)
	}
	if end == nil {
		end = t.round.calls.end()
	}
	// A stop for the errors of this very round must not cost another inference first.
	if m.draft.totals.EndStep(t.round.calls.failed()); end == nil && t.round.calls.failed() {
		if end, err = m.judge(t.round.turn, nil, t.merger.earlier(), answer{}); err != nil {
			return Stepped{}, err
		}
	}
	if end == nil {
		end = m.stopped()
	}
	return m.finishStep(ctx, ending{termination: end})
}

// commitWait ends the step while calls wait for decisions. The head's outcome
// counts: when a decision has come in between, or a person's input, the run
// continues immediately. StepEnd has not run then; it belongs to the round's end.
func (m *machine) commitWait(ctx context.Context) (Stepped, error) {
	t := m.tools
	p, result, err := m.save(ctx, &waitWrite{
		round: t.tickets.callPart(nil), open: t.merger.values(), seq: m.holder.head.Seq,
		run:   newRunPart(&m.holder, &m.base, &m.draft, nil, thread.FormWhole, m.holder.env.Millis()),
		lacks: m.holder.lacks, keep: m.holder.keep, lease: m.holder.s.lease.Milliseconds(), followed: m.holder.shared.chunks.Followed(),
		crowded: t.round.calls.any(func(c *call) bool { return c.stage == crowded }),
	})
	if err != nil {
		return Stepped{}, err
	}
	m.base.record = p.run
	m.holder.account.Report(p.settled)
	if result.Outcome == thread.Wait {
		m.releaseSlot(ctx)
	}
	t.tickets.announce()
	if result.Outcome == thread.Wait {
		m.holder.report(ctx, &m.base.record.Run)
	}
	// All of it is stored: a step that continues reads it back, as another worker
	// would.
	return m.holder.handedOn(result.Outcome), nil
}

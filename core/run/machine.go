package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// machine takes a step: it leads the draft, the model's turn and the tool round
// from the cursor to the commits, and to the run's end.
type machine struct {
	*draft
	unsaid *turnBuilder // the turn that a model has begun, until it is committed
	round  *round       // the open tool round, once it is known
}

// newMachine returns a machine that knows of the run what the claim says. The
// values of a step are allocated together: each lives as long as the others.
func (s *Stepper) newMachine(w Work, sink Sink) *machine {
	fence := w.Head.Claim.Fence
	values := &struct {
		machine
		draft
		loaded
		step
	}{step: step{
		Stepper: s, Work: w, id: w.Head.Run.ID, head: w.Head,
		events: emitter{sink: sink, run: w.Head.Run.ID, fence: fence},
	}}
	p, m := &values.step, &values.machine
	p.hold.fence.Store(fence)
	if w.Head.Run.Cursor == thread.CursorTools { // the turn's events were positioned under its own fence
		p.events.fence = w.Head.Run.TurnFence
	}
	values.loaded.step, values.draft.loaded, m.draft = p, &values.loaded, &values.draft
	return m
}

// advance is the way through one step, from wherever the cursor stands. What it
// says and changes goes into the draft and is void if it returns an error: the
// hooks of a step that is taken again run again, on the committed state.
func (m *machine) advance(ctx context.Context) (Stepped, error) {
	if err := m.load(ctx); err != nil {
		return Stepped{}, err
	}
	m.begin()
	if m.head.Run.Cursor == thread.CursorTools {
		return m.tools(ctx)
	}
	number := int(m.head.Run.Step) + 1
	m.enter(number)
	if err := m.hear(ctx); err != nil {
		return Stepped{}, err
	}
	if m.head.Run.Cursor == thread.CursorStart {
		m.announceStart()
		if err := m.phase(ctx, plugin.Context{Phase: core.PhaseRunStart}); err != nil {
			return Stepped{}, err
		}
	}
	id := turnID(m.id, number)
	m.events.emit(core.Event{Type: core.EventStepStart, MessageID: id})
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference} {
		if err := m.phase(ctx, plugin.Context{Phase: phase}); err != nil {
			return Stepped{}, err
		}
	}
	turn, err := m.infer(ctx, number, id)
	if err != nil {
		return Stepped{}, err
	}
	if err := m.phase(ctx, plugin.Context{Phase: core.PhaseAfterInference, Turn: turn}); err != nil {
		return Stepped{}, err
	}
	m.addTurn(turn)
	if len(turn.ToolCalls) > 0 {
		return m.commitTurn(ctx, turn)
	}
	end := m.judge(*turn)
	natural := end == nil
	if natural {
		end = naturalEnd(*turn)
	}
	return m.finish(ctx, ending{termination: end, natural: natural})
}

// commitTurn is commit A: the turn and the input before it become visible, and
// the places of the results are reserved. The tool round follows.
func (m *machine) commitTurn(ctx context.Context, turn *core.Message) (Stepped, error) {
	calls := len(turn.ToolCalls)
	if calls > thread.MaxCalls {
		return Stepped{}, endWith("too_many_calls", fmt.Errorf("the model asked for %d tool calls in one turn, at most %d are allowed", calls, thread.MaxCalls))
	}
	d, from := m.draft, m.head.Seq
	_, err := m.save(ctx, nil, func() thread.Change {
		return thread.CommitTurn{
			Fence: m.fence(), From: from, Seq: d.seq(), Calls: calls, TurnFence: m.events.fence, Consumed: d.consumed, Cut: d.cut,
			Batch: m.agent.Spec.Mode() == agent.ParallelBatchApproval,
		}
	}, func(thread.Head, thread.Result) ([]store.Record, error) {
		records, err := d.logRecords(0)
		if err != nil || m.recorded {
			return records, err
		}
		record, err := m.runRecord(m.record)
		return append(records, record), err
	})
	if err != nil {
		return Stepped{}, err
	}
	m.round = m.newRound(*turn, m.head.Run.Base)
	m.committed(ctx)
	m.round.before = m.messages
	if !m.claims() {
		return Stepped{}, thread.ErrFenced
	}
	return m.runRound(ctx)
}

// tools goes on with the round of a turn that an earlier step committed.
func (m *machine) tools(ctx context.Context) (Stepped, error) {
	m.enter(int(m.head.Run.Step))
	r, err := m.openRound(ctx)
	if m.round = r; err != nil {
		return Stepped{}, err
	}
	return m.runRound(ctx)
}

// runRound takes the round as far as it goes and ends the step: when every call
// has its result, or when those that have none wait for decisions.
func (m *machine) runRound(ctx context.Context) (Stepped, error) {
	r := m.round
	r.mode = r.chooseMode()
	end := m.judge(r.turn)
	var err error
	if end != nil {
		err = r.answerOpen(ctx, core.ResultNotExecuted, "not executed: "+end.Code)
	} else {
		err = r.schedule(ctx)
	}
	if err != nil {
		return Stepped{}, err
	}
	if err := r.mergeRound(ctx); err != nil {
		return Stepped{}, err
	}
	if r.open() {
		return m.commitWait(ctx)
	}
	if end == nil {
		end = r.end()
	}
	return m.finish(ctx, ending{termination: end})
}

// finish ends the step: its last phase, its remaining records, commit B.
func (m *machine) finish(ctx context.Context, end ending) (Stepped, error) {
	if err := m.phase(ctx, plugin.Context{Phase: core.PhaseStepEnd}); err != nil {
		return Stepped{}, err
	}
	return m.commitStep(ctx, end)
}

// commitStep is commit B. What the head makes of it counts, see
// [thread.CommitStep], and the run's record says that: it is built from the
// result, since input may have come after the model's last look, or a listener
// of RunEnd may turn the end into a close.
//
// The results go before the step record, in the order of the log; those that
// were put alone are left out. The run's record is stored with its first commit,
// which a takeover needs it from, and when the run ends.
func (m *machine) commitStep(ctx context.Context, end ending) (Stepped, error) {
	d, r, from, results := m.draft, m.round, m.head.Seq, 0
	if r != nil {
		results = len(r.calls)
		r.takeResults()
	}
	d.addStep()
	asked := thread.Yield
	if end.termination != nil {
		asked = thread.Done
		m.hold.ending.Store(true) // before the write: the watch may see its head first
	}
	var record thread.RunRecord
	result, err := m.save(ctx, r, func() thread.Change {
		return thread.CommitStep{
			Fence: m.fence(), From: from, Outcome: asked, Natural: end.natural, Listens: m.listens(),
			Seq: d.seq(), Calls: m.allDone(), Consumed: d.consumed, Cut: d.cut,
			Schema: r.adopted(), Lease: m.lease.Milliseconds(), Keep: m.Keep,
		}
	}, func(next thread.Head, result thread.Result) ([]store.Record, error) {
		records, err := d.logRecords(results)
		if err != nil {
			return nil, err
		}
		if r != nil {
			records = r.addUnstored(records)
		}
		record = m.recordFor(next, result, end.termination)
		if result.Outcome != thread.Done && result.Outcome != thread.Close && m.recorded {
			return records, nil
		}
		stored, err := m.runRecord(record)
		return append(records, stored), err
	})
	if err != nil {
		return Stepped{}, err
	}
	m.record = record
	return m.stepped(ctx, result)
}

// stepped is what follows commit B: the reader first, then effects, then the
// cache of the state, whose loss costs nothing.
func (m *machine) stepped(ctx context.Context, result thread.Result) (Stepped, error) {
	if m.round != nil {
		m.round.allStored()
		m.round = nil
	}
	m.events.emit(core.Event{Type: core.EventStepEnd})
	if result.Outcome == thread.Done {
		m.events.emit(core.Event{Type: core.EventRunFinish, RunID: m.record.ID, Response: m.record.Response, Termination: m.record.Termination})
	}
	m.committed(ctx)
	if result.Outcome == thread.Close {
		return m.close(ctx)
	}
	m.storeSnapshot(ctx)
	return m.handedOn(result.Outcome), nil
}

// committed is what follows commits A and B: the turn is the log's now.
func (m *machine) committed(ctx context.Context) {
	m.unsaid = nil
	m.draft.committed(ctx)
}

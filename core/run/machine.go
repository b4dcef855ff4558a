package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run/history"
	"github.com/reveille-run/reveille/core/run/inference"
	"github.com/reveille-run/reveille/core/run/live"
	"github.com/reveille-run/reveille/core/thread"
)

// machine takes a step: it leads the draft, the model's turn and the tool round
// from the cursor to the commits, and to the run's end. It holds the other values of the
// step, which live as long as it does; a lower one knows no higher one.
type machine struct {
	holder holder
	base   base
	draft  draft
	unsaid *inference.Turn // the turn that a model has begun, until it is committed
	round  *round          // the open tool round, once it is known
	form   thread.Form     // of the run's end, as far as the store has refused larger ones

	runEnded *thread.EndRecord // what RunEnd has changed; nil: it has not run
}

// newMachine returns a machine that knows of the run what the claim says.
func (s *Stepper) newMachine(w Work, sink history.Sink) *machine {
	fence := w.Head.Claim.Fence
	m := &machine{holder: holder{
		s: s, env: s.env, store: s.store, committer: s.committer, records: s.records, lease: s.lease,
		Key: w.Key, id: w.Head.Run.ID, head: w.Head,
		found: w.Head.Run.Cursor, keep: w.Keep, whole: w.Whole, proved: w.Proved,
		events: history.NewEmitter(w.Head.Run.ID, fence, sink),
	}}
	h := &m.holder
	m.base.holder, m.draft.base = h, &m.base
	h.log = logger{s.log, w.Key, w.Head.Run.ID, &h.events}
	h.hold.fence.Store(fence)
	h.told.from = w.Head.Version
	infers := w.Head.Run.Cursor != thread.CursorTools && w.Head.Run.Status != thread.Closing
	h.chunks.Init(&s.live, w.Key, w.Head.Run.ID, infers)
	if w.Followed > 0 {
		h.chunks.Follow(w.Followed)
	}
	if s.profiles != nil {
		h.profiles = s.profiles(w.Key.Tenant)
	}
	if w.Head.Run.Cursor == thread.CursorTools { // the turn's events were positioned under its own fence
		h.events.SetFence(w.Head.Run.TurnFence)
	}
	h.account = s.books.Run(account.Claim{Key: w.Key, Run: h.id, Holder: claim{h}})
	return m
}

// The files of the way, in its order: base.go and input.go read, infer.go
// calls the model, commitTurn is commit A, schedule.go runs the calls and
// merge.go takes what they changed, commitStep is commit B. A round that cannot
// close ends in wait.go, a run in end.go, and an error in guard.go.

// advance is the way through one step, from wherever the cursor stands. What it
// says and changes goes into the draft and is void if it returns an error: the
// hooks of a step that is taken again run again, on the committed state.
func (m *machine) advance(ctx context.Context) (Stepped, error) {
	if err := m.base.load(ctx); err != nil {
		return Stepped{}, err
	}
	m.draft.begin()
	if err := m.draft.look(ctx); err != nil {
		return Stepped{}, err
	}
	if m.holder.head.Run.Cursor == thread.CursorTools {
		return m.tools(ctx) // the inbox waits: between a turn and its results nothing may be said
	}
	number := int(m.holder.head.Run.Step) + 1
	m.draft.enter(number)
	// The input comes before every phase: hooks see what the model will be asked.
	if err := m.draft.hear(ctx); err != nil {
		return Stepped{}, err
	}
	// RunStart belongs to the first step: a crash before its commit runs it again, on
	// the same state, and nothing of the first time was stored.
	if m.holder.head.Run.Cursor == thread.CursorStart {
		if err := m.startRun(ctx); err != nil {
			return Stepped{}, err
		}
	}
	// The turn has its id before the model is called, from its place alone: a client
	// that saw it begin finds the committed turn under the same id.
	id := history.TurnID(m.holder.id, number)
	if m.holder.chunks.Start(live.Attempt{Run: m.holder.id, Step: number, Fence: m.holder.events.Fence()}, m.base.agent.Spec.Events) {
		m.holder.events.SetTap(&m.holder.chunks)
	}
	m.holder.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(m.holder.at), MessageID: id})
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference} {
		if err := m.draft.phase(ctx, phase, plugin.Moment{}); err != nil {
			return Stepped{}, err
		}
	}
	turn, err := m.infer(ctx, number, id)
	if err != nil {
		if failed := m.draft.tolerated(err); failed != nil {
			return m.failStep(ctx, failed)
		}
		return Stepped{}, err
	}
	if err := m.draft.phase(ctx, core.PhaseAfterInference, plugin.Moment{Turn: turn}); err != nil {
		return Stepped{}, err
	}
	if err := m.draft.charge(ctx, m.unsaid); err != nil {
		return Stepped{}, err
	}
	m.draft.addTurn(turn, m.unsaid)
	if len(turn.ToolCalls) > 0 {
		return m.commitTurn(ctx, turn)
	}
	return m.endOfTurn(ctx, turn)
}

// startRun is what comes once for a run, in its first step.
func (m *machine) startRun(ctx context.Context) error {
	m.base.announceStart()
	m.draft.announceFound() // before a hook changes it
	if err := m.takeFrontend(); err != nil {
		return err
	}
	return m.draft.phase(ctx, core.PhaseRunStart, plugin.Moment{})
}

// endOfTurn ends the step of a turn without calls: nothing can happen between the two
// that a crash should not repeat, so that both are one commit.
func (m *machine) endOfTurn(ctx context.Context, turn *core.Message) (Stepped, error) {
	m.draft.checkAnswer(turn)
	end, err := m.draft.judge(*turn, nil, m.draft.messages.First(m.draft.messages.Len()-1).Slice())
	if err != nil {
		return Stepped{}, err
	}
	natural := false
	if end == nil {
		end = m.answered(ctx, turn)
		natural = end != nil && end.Type == core.TerminationNatural
	}
	return m.finishStep(ctx, ending{termination: end, natural: natural})
}

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
	m.round = m.draft.newRound(*turn, m.holder.head.Run.Base)
	m.round.found = true    // no claim came to its calls before
	if !m.holder.claims() { // the commit stands, and another worker runs its calls
		return Stepped{}, thread.ErrFenced
	}
	return m.runRound(ctx)
}

// tools goes on with the round of a turn that an earlier step committed.
func (m *machine) tools(ctx context.Context) (Stepped, error) {
	m.draft.enter(int(m.holder.head.Run.Step))
	r, err := m.draft.openRound(ctx)
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

// finishStep ends the step: its last phase, its remaining records, commit B. StepEnd
// runs once for a step, when its round has closed, and sees all results.
func (m *machine) finishStep(ctx context.Context, end ending) (Stepped, error) {
	m.holder.at = m.lastSaid()
	if err := m.draft.phase(ctx, core.PhaseStepEnd, plugin.Moment{}); err != nil {
		return Stepped{}, err
	}
	return m.commitStep(ctx, end)
}

// lastSaid is when the last of the step was said: its turn, or that there is none, or
// the latest result. It
// follows from what is stored, so that every claim that closes the step shows
// StepEnd the same time.
func (m *machine) lastSaid() (at int64) {
	if m.round == nil {
		last := m.draft.entries[len(m.draft.entries)-1]
		if last.Failed != nil {
			return last.Failed.At
		}
		return last.Message.CreatedAt
	}
	for i := range m.round.calls {
		at = max(at, m.round.calls[i].result.entry.Message.CreatedAt)
	}
	return at
}

// commitStep makes commit B, and goes on from what the head has made of it. The results
// go before the step record, in the order of the log; those that were put alone are left
// out.
func (m *machine) commitStep(ctx context.Context, end ending) (Stepped, error) {
	r, w := m.round, &stepWrite{natural: end.natural, listens: m.base.listens(), recorded: m.base.recorded, done: m.holder.allDone(), lacks: m.holder.lacks, keep: m.holder.keep}
	if r != nil {
		w.calls, w.adopted = r.calls, r.schemaMet()
		r.takeResults()
	}
	m.draft.addStep()
	w.log, w.run = m.draft.logPart(), m.draft.runPart(end.termination, m.form, m.holder.endedAt())
	w.lease, w.followed = m.holder.lease.Milliseconds(), m.holder.chunks.Followed()
	if end.termination != nil {
		m.holder.hold.ending.Store(true) // before the write: the watch may see its head first
	}
	p, result, err := m.draft.save(ctx, r, w)
	// What the step has come to stands whole or not at all: where it is not its record of
	// the run that is too large, the run fails instead.
	for again := end.termination != nil; err != nil && again; {
		if again, err = m.shrinks(ctx, err, thread.FormCut); again {
			w.run.form = m.form
			p, result, err = m.draft.save(ctx, r, w)
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

// stepped is what follows commit B: the reader first, then effects, then the
// cache of the state, whose loss costs nothing. Nothing of it fails the step:
// what the commit handed on may be under way in another process by now. A run that
// still owes something to its end is closed by this claim.
func (m *machine) stepped(ctx context.Context, result thread.Result) (Stepped, error) {
	if m.round != nil {
		m.round.allStored()
		m.round = nil
	}
	m.draft.announceChanges()
	m.draft.announceState()
	if result.Outcome == thread.Done {
		m.draft.releaseSlot(ctx, m.draft.totals)
	}
	m.holder.events.StepEnd(m.holder.at)
	m.holder.stepOver(m.base.record.AgentID)
	if result.Outcome == thread.Done {
		m.holder.events.Finish(&m.base.record.Run)
		m.holder.report(ctx, m.base.record.Run)
	}
	m.committed(ctx)
	if result.Outcome == thread.Close {
		return m.closeRun(ctx)
	}
	m.draft.storeSnapshot(ctx) // last: the claim may be gone, and whoever has it needs none of this
	return m.holder.handedOn(result.Outcome), nil
}

// committed is what follows commits A and B: the turn is the log's now.
func (m *machine) committed(ctx context.Context) {
	m.unsaid = nil
	m.draft.committed(ctx)
}

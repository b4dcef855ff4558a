package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// The files of the way, in its order: load.go reads, input.go adds the input,
// infer.go calls the model. tools.go makes commit A, has schedule.go run the calls
// and merge.go take over their changes, and ends a round that has to wait.
// finish.go makes commit B. A run ends in end.go, and an error in guard.go.

// advance is the way through one step, from the place of the cursor. Its messages
// and changes go into the draft and are void if it returns an error: the hooks of a
// step that is repeated run again, on the committed state.
func (m *machine) advance(ctx context.Context) (Stepped, error) {
	if err := m.base.load(ctx, &m.holder); err != nil {
		return Stepped{}, err
	}
	if m.holder.head.Run.Cursor == thread.CursorStart {
		if err := checkParent(ctx, &m.holder, m.base.record.Parent); err != nil {
			return Stepped{}, err
		}
	}
	m.begin()
	if err := m.look(ctx); err != nil {
		return Stepped{}, err
	}
	if m.holder.head.Run.Cursor == thread.CursorTools {
		return m.goOnWithRound(ctx) // the inbox waits: between a turn and its results nothing may be said
	}
	number := int(m.holder.head.Run.Step) + 1
	m.enter(number)
	// The input comes before every phase: hooks see the messages that the model
	// will read.
	if err := m.hear(ctx); err != nil {
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
	if m.holder.shared.chunks.Start(live.Attempt{Run: m.holder.id, Step: number, Fence: m.holder.events.Fence()}, m.base.agent.Spec.Events) {
		m.holder.events.SetTap(&m.holder.shared.chunks)
	}
	m.holder.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(m.holder.stepBegan), MessageID: id})
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference} {
		if err := m.phase(ctx, phase, engine.Moment{}); err != nil {
			return Stepped{}, err
		}
	}
	turn, err := m.infer(ctx, number, id)
	if err != nil {
		if failed := m.base.tolerated(err, m.holder.s.stops); failed != nil {
			return m.failStep(ctx, failed)
		}
		return Stepped{}, err
	}
	if err := m.phase(ctx, core.PhaseAfterInference, engine.Moment{Turn: turn}); err != nil {
		return Stepped{}, err
	}
	if err := m.charge(ctx); err != nil {
		return Stepped{}, err
	}
	m.addTurn(turn)
	if len(turn.ToolCalls) > 0 {
		return m.commitTurn(ctx, turn)
	}
	return m.endOfTurn(ctx, turn)
}

// addTurn puts the turn into the draft, with where it comes from: the calls that it took, the
// member of a pool, what the model was shown, and which of its tools this build has not.
func (m *machine) addTurn(turn *core.Message) {
	entry := thread.Entry{
		Message: turn, Attempt: m.holder.events.Fence(), Retried: m.unsaid.Failures(), Duration: m.unsaid.Spent().Time().Milliseconds(),
		Member: m.unsaid.Member(), Window: m.prompt.turnWindow(), Queued: m.holder.dueFor,
	}
	entry.Attempts, entry.First = m.unsaid.Tries()
	for i, call := range turn.ToolCalls {
		if m.draft.tool(m.base.agent, call.Name) == nil {
			entry.Toolless = append(entry.Toolless, i)
		}
	}
	m.noteSent(&entry)
	m.draft.addTurn(entry, m.base.judged(m.holder.s.stops))
}

// noteSent adds the request to the entry of the turn that answers it.
func (m *machine) noteSent(entry *thread.Entry) {
	request, origin := m.unsaid.Request()
	prompt := m.prompt.stable(request)
	known := m.draft.past.Sent
	if known == nil || !known.Same(&prompt) {
		known = m.holder.s.prompts.Find(m.base.agent.Spec.ID, prompt)
	}
	if err := m.draft.addSent(entry, m.holder.records, known, m.prompt.rest(request, origin)); err != nil {
		m.draft.prompts, entry.Prompt, entry.Sent = nil, "", &thread.Sent{Missing: thread.SentNotEncoded}
	}
}

// startRun is what comes once for a run, in its first step.
func (m *machine) startRun(ctx context.Context) error {
	m.holder.events.Start(&m.base.record.Run, m.holder.Key.Thread)
	announceFound(&m.holder.events, m.draft.snapshot) // before a hook changes it
	if err := m.mergeFrontend(); err != nil {
		return err
	}
	return m.phase(ctx, core.PhaseRunStart, engine.Moment{})
}

// endOfTurn ends the step of a turn without calls: nothing can happen between the two
// that a crash should not repeat, so that both are one commit.
func (m *machine) endOfTurn(ctx context.Context, turn *core.Message) (Stepped, error) {
	a := m.checkAnswer(turn)
	end, err := m.judge(*turn, nil, m.draft.messages.First(m.draft.messages.Len()-1).Slice(), a)
	if err != nil {
		return Stepped{}, err
	}
	natural := false
	if end == nil {
		end = m.answered(ctx, turn, a)
		natural = end != nil && end.Type == core.TerminationNatural
	}
	return m.finishStep(ctx, ending{termination: end, natural: natural})
}

// answered decides how a turn without calls ends, if nothing else stops the run:
// the natural end, an end with an error, or, if it returns nil, another step, in
// which the model is to correct its answer.
func (m *machine) answered(ctx context.Context, turn *core.Message, a answer) *core.Termination {
	switch {
	case a.wrong == nil:
		return naturalEnd(*turn)
	case a.mends:
		m.draft.askToMend(turn, a.wrong, m.unsaid.AskedForForm())
		m.holder.warn(ctx, "answer rejected, the model corrects it", "repair", m.draft.totals.Repairs, "error", a.wrong)
		return nil
	}
	if m.holder.s.failed != nil { // before the write that shows the end
		m.holder.s.failed(m.holder.id, a.wrong)
	}
	return &core.Termination{Type: core.TerminationError, Code: CodeInvalidOutput, Detail: complaint(a.wrong)}
}

// mergeFrontend sets the members of the frontend's state in the thread's. It is part of the run's first
// commit; a crash before that does it again, on the same state.
func (m *machine) mergeFrontend() error {
	if m.base.input == nil || m.base.input.Frontend == nil || m.base.input.Frontend.State == nil {
		return nil
	}
	result, err := m.base.hooks.engine.Submit(m.draft.snapshot, 0, plugin.SharedState.Edit(state.At().Merge(m.base.input.Frontend.State)))
	if err != nil {
		return endAt("frontend", "its state", err)
	}
	m.draft.merge(result)
	return nil
}

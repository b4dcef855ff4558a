package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The inference within the step. It starts with the thread's place in a pool and
// the number of the model's earlier failures, asks the prompt for its requests, and
// leaves a turn in machine.unsaid until a commit has it in the log. Every other
// outcome of the step reads there what it owes: a cancelled run its last words, a
// nack the number of failures, and each of them the usage.

// infer has the model say the step's turn, whose id is given.
func (m *machine) infer(ctx context.Context, number int, id string) (*core.Message, error) {
	h, b := &m.holder, &m.base
	h.account.StartTurn(h.head.Seq) // the turn counts as logged once the log is longer than that
	from := inference.Start{
		ID: id, Thread: h.Key, Model: m.prompt.model, Failed: h.head.Run.ModelFailed, Lost: h.head.Run.ModelLost, LastWords: len(m.draft.consumed) == 0,
		Since: h.head.FailingSince(), PatientUntil: m.timeOver(),
	}
	from.Member, from.Fixed = h.s.choices.Member(h.id, number)
	if n := m.draft.past.Homes.Len(); n > 0 {
		from.Last = m.draft.past.Homes.At(n - 1)
	}
	var until time.Time
	if !h.last.IsZero() {
		until = h.last.Add(-afterDeadline)
	}
	// Kept before anything can fail: a nack stores how often the model has.
	m.unsaid = inference.New(inference.Step{
		Run: h.id, Number: number, Agent: b.agent, Began: h.stepBegan, Until: until,
		Circuits: &h.s.circuits, Windows: &h.s.windows, Events: &h.events, Account: &h.account, Prompt: &m.prompt, Claim: claim{h},
	}, from)
	turn, err := m.unsaid.Infer(ctx)
	if err != nil {
		return nil, inferred(err)
	}
	return turn, nil
}

// timeOver is when the time of the run is over, by the policies timeout of its agent, in
// unix milliseconds; 0: it has no end. Before the first commit nothing stores when the run
// started: since when its model fails is the earliest time that is known then.
func (m *machine) timeOver() (until int64) {
	began := m.base.record.StartedAt
	if since := m.holder.head.FailingSince(); since != 0 {
		began = min(began, since)
	}
	for i := range m.base.agent.Spec.Stop {
		if s := &m.base.agent.Spec.Stop[i]; s.Type == agent.StopTimeout {
			if end := began + int64(s.Seconds)*1000; until == 0 || end < until {
				until = end
			}
		}
	}
	return until
}

// inferred is an error of an inference as the step's.
func inferred(err error) error {
	var end *inference.EndError
	if !errors.As(err, &end) {
		return err
	}
	return endAt(end.Code, end.Where, end.Cause)
}

// failStep ends a step whose model has failed, in a run that tolerates this: a
// record of the failure takes the place of the turn. Everything else of the step
// holds, such as its input, the changes of hooks before the inference and the phase
// StepEnd. So the next step continues from it and calls the model again, with all
// its retries.
//
// Nothing but commit B makes it visible. A crash before that costs what a crash in
// any inference does: the next claim makes the remaining model calls of the step.
func (m *machine) failStep(ctx context.Context, end *ended) (Stepped, error) {
	failed := &thread.Failure{
		Kind: failureKind(end.cause), Text: end.termination.Detail, Calls: int(m.unsaid.Failures()), At: m.holder.saidAt(m.holder.events.Step()),
	}
	if used := m.unsaid.Spent().Usage(); used != nil {
		failed.Usage = *used
	}
	m.unsaid.Void()
	if err := m.void(ctx); err != nil {
		return Stepped{}, err
	}
	if err := m.charge(ctx); err != nil {
		return Stepped{}, err
	}
	m.draft.addFailure(thread.Entry{
		Failed: failed, Attempt: m.holder.events.Fence(), Member: m.unsaid.FailedMember(), Window: m.prompt.noted,
		Queued: m.holder.dueFor, Attempts: m.unsaid.Attempts(""), Duration: m.unsaid.Spent().Time().Milliseconds(),
	})
	said := []any{"kind", failed.Kind, "failed", failed.Calls, "steps", m.draft.totals.ErrorSteps}
	m.holder.warn(ctx, "inference failed, the run continues", slices.Concat(said, failure(end.cause))...)
	verdict, err := m.judge(core.Message{}, failed, m.draft.messages.Slice(), answer{})
	if err != nil {
		return Stepped{}, err
	}
	if verdict == nil {
		verdict = m.stopped()
	}
	m.holder.events.InferenceFailed(m.unsaid.ID(), failed)
	return m.finishStep(ctx, ending{termination: verdict})
}

// void informs a reader that the words of the turn are void. Later words have the
// next fence: a client that holds a position in the lost text and reconnects learns
// the same.
func (m *machine) void(ctx context.Context) error {
	if !m.holder.events.Told() || !m.unsaid.Shown() {
		return nil
	}
	if err := m.holder.refence(ctx, m.holder.head); err != nil {
		return err
	}
	m.holder.events.Restart(m.holder.fence())
	m.holder.events.EmitUnplaced(core.Event{Type: core.EventStepRestarted})
	m.holder.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(m.holder.stepBegan), MessageID: m.unsaid.ID()})
	return nil
}

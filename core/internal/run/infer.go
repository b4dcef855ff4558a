package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What an inference is to the step: it begins with where the thread stands in a pool and how
// often the model has failed before, asks the prompt for its requests, and leaves a turn in
// machine.unsaid until a commit has it in the log. Whatever the step comes to instead reads
// there what it owes: a cancelled run its last words, a nack how often the model has failed,
// and each of them what was spent.

// infer has the model say the step's turn, whose id is given.
func (m *machine) infer(ctx context.Context, number int, id string) (*core.Message, error) {
	h, b := &m.holder, &m.base
	h.account.StartTurn(h.head.Seq) // the turn counts as logged once the log is longer than that
	from := inference.Start{
		ID: id, Model: m.prompt.model, Failed: h.head.Run.ModelFailed, Lost: h.head.Run.ModelLost, LastWords: len(m.draft.consumed) == 0,
	}
	from.Member, from.Fixed = h.s.choices.Member(h.id, number)
	if n := m.draft.past.Homes.Len(); n > 0 {
		from.Last = m.draft.past.Homes.At(n - 1)
	}
	var until time.Time
	if !h.last.IsZero() {
		until = h.last.Add(-afterDeadline)
	}
	// Kept before anything can fail: a nack says how often the model has.
	m.unsaid = inference.New(inference.Step{
		Key: h.Key, Run: h.id, Number: number, Agent: b.agent, Began: h.stepBegan, Until: until,
		Circuits: &h.s.circuits, Events: &h.events, Account: &h.account, Prompt: &m.prompt, Claim: claim{h},
	}, from)
	turn, err := m.unsaid.Infer(ctx)
	if err != nil {
		return nil, inferred(err)
	}
	return turn, nil
}

// inferred is an error of an inference as the step's.
func inferred(err error) error {
	var end *inference.EndError
	if !errors.As(err, &end) {
		return err
	}
	return endAt(end.Code, end.Where, end.Cause)
}

// failStep ends a step whose model has failed, in a run that tolerates this: a record
// of the failure stands where the turn would. Everything else of the step holds, such
// as its input, what hooks before the inference changed and the phase StepEnd, so that a next
// step goes on from it and asks the model again, with all its retries.
//
// Nothing but commit B makes it visible. A crash before that costs what a crash in
// any inference does: the next claim makes what is left of the step's model calls.
func (m *machine) failStep(ctx context.Context, end *ended) (Stepped, error) {
	failed := &thread.Failure{
		Kind: failureKind(end.cause), Text: end.termination.Detail, Calls: int(m.unsaid.Failures()), At: m.holder.saidAt(m.holder.events.Step()),
	}
	m.unsaid.Void()
	if err := m.void(ctx); err != nil {
		return Stepped{}, err
	}
	if err := m.charge(ctx); err != nil {
		return Stepped{}, err
	}
	m.draft.addFailure(thread.Entry{Failed: failed, Attempt: m.holder.events.Fence(), Member: m.unsaid.FailedMember(), Window: m.prompt.noted})
	said := []any{"kind", failed.Kind, "failed", failed.Calls, "steps", m.draft.totals.ErrorSteps}
	m.holder.warn(ctx, "inference failed and the run goes on", slices.Concat(said, failure(end.cause))...)
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

// void tells a reader that what they were shown of the turn comes to nothing. What
// follows has the next fence: a client that holds a position in the lost text and
// reconnects is told the same.
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

package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run/inference"
	"github.com/reveille-run/reveille/core/thread"
)

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
	if err := m.draft.charge(ctx, m.unsaid); err != nil {
		return Stepped{}, err
	}
	m.draft.addFailure(failed, m.unsaid)
	m.holder.warn(ctx, "inference failed and the run goes on", slices.Concat([]any{"kind", failed.Kind, "failed", failed.Calls, "steps", m.draft.totals.ErrorSteps}, failure(end.cause))...)
	verdict, err := m.draft.judge(core.Message{}, failed, m.draft.messages.Slice())
	if err != nil {
		return Stepped{}, err
	}
	if verdict == nil {
		verdict = m.draft.stopped()
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
	m.holder.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(m.holder.at), MessageID: m.unsaid.ID()})
	return nil
}

// addFailure puts the failure into the draft, with what the hooks before the
// inference changed. Tokens of the calls that failed are in the totals, as far as they are known.
func (d *draft) addFailure(failed *thread.Failure, t *inference.Turn) {
	d.totals.Steps = d.base.holder.events.Step()
	d.totals.EndStep(true)
	entry := thread.Entry{Run: d.base.holder.id, Step: d.base.holder.events.Step(), At: d.base.holder.at, Failed: failed, Attempt: d.base.holder.events.Fence(), Member: t.FailedMember(), Window: d.noted}
	d.movePatches(&entry)
	d.add(entry)
}

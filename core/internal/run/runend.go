package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// runEnd runs the phase RunEnd: once, unless a claim of the closing run is lost. The
// claims of a closing run are few: after those that were lost, it may be a hook that takes
// the process down, and no run stays open for its hooks. One that fails, or takes longer
// than a lease, is logged, and what the phase changed is dropped as a whole. Nothing can
// cancel a run that closes.
//
// From here on the end has its time, which RunEnd is shown, and the run's record says.
func (m *machine) runEnd(ctx context.Context, t *core.Termination) (skipped bool, err error) {
	m.draft.at = m.holder.endedAt()
	if m.holder.head.Run.RunEnd != 0 {
		return false, m.recallRunEnd(ctx)
	}
	if !m.base.listens() {
		return false, nil
	}
	if m.holder.head.Run.Attempts >= thread.SkipRunEnd {
		m.holder.complain(ctx, "RunEnd skipped, too many claims lost", "attempts", m.holder.head.Run.Attempts)
		return true, nil
	}
	// A phase that failed half-way has changed nothing of the draft: its outcome is
	// merged as a whole.
	before := m.draft
	within, cancel := m.holder.env.WithTimeout(ctx, m.holder.s.lease)
	defer cancel()
	if err := m.phase(within, core.PhaseRunEnd, engine.Moment{Termination: t}); err != nil {
		if ctx.Err() != nil {
			return false, fmt.Errorf("run end: %w", context.Cause(ctx))
		}
		m.holder.complain(ctx, "RunEnd failed, the run ends anyway", failure(err)...)
	}
	// Only the later part of the draft is RunEnd's. The rest is the changes of the
	// calls, which each claim makes again from their results.
	m.runEnded = &thread.EndRecord{At: m.draft.at, Patch: state.Patch(nil).Join(m.draft.patches[len(before.patches):]...), Revision: m.draft.snapshot.Revision()}
	if added := m.draft.effects[len(before.effects):]; len(added) > 0 {
		m.runEnded.Command = &state.Command{Effects: added}
	}
	return false, nil
}

// recallRunEnd takes the outcome of RunEnd under a claim that was released after
// it.
func (m *machine) recallRunEnd(ctx context.Context) error {
	end := new(thread.EndRecord)
	err := m.holder.readRecord(ctx, "end", recordname.End(m.holder.id, m.holder.head.Run.RunEnd), end)
	if err == nil {
		err = m.foldRunEnd(end)
	}
	switch {
	case err == nil:
		if end.Command != nil {
			m.draft.effects = append(m.draft.effects, end.Command.Effects...)
		}
		m.draft.at, m.runEnded, m.form = end.At, end, max(m.form, end.Form)
	case core.CodeOf(err) == core.CodeCorrupt:
		m.holder.complain(ctx, "changes of RunEnd lost", "error", err)
	default:
		return err
	}
	return nil
}

// foldRunEnd takes what RunEnd has changed of the state, if that is known.
func (m *machine) foldRunEnd(end *thread.EndRecord) error {
	if len(end.Patch) == 0 || m.base.conversation == nil {
		return nil
	}
	fold := m.draft.snapshot.Fold()
	if err := fold.Apply(end.Patch, end.Revision); err != nil {
		return err
	}
	m.draft.snapshot, m.draft.patches = fold.Snapshot(), append(m.draft.patches, end.Patch)
	return nil
}

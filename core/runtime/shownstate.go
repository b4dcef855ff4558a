package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// shownState is the state as the reader of a follower has it: the values that readers
// are shown, after the last record that the follower has passed. It is read once, when
// something is to be shown of it, and goes on from record to record.
type shownState struct {
	fold     *state.Fold // nil: not known
	revision uint64      // of the whole state: the fold knows of the values that are shown
	next     uint64      // sequence of the record that comes next
	owed     bool        // the reader has not been shown any, and is to be
	again    bool        // it was told that a step is void, and may have been shown what that changed
}

// pass takes a record in that the follower comes to. Only what readers are shown is
// folded: values of calls, which end with their step, are none of it.
func (s *shownState) pass(entry store.LogEntry) error {
	if s.fold == nil || entry.Seq != s.next { // steps of this process have come further: they have shown the state
		s.fold = nil
		return nil
	}
	s.next, s.revision = entry.Seq+1, max(s.revision, entry.Revision)
	if patch := entry.Patch.Only(run.Visible); len(patch) > 0 {
		return s.fold.Apply(patch, entry.Revision)
	}
	return nil
}

// stateAt makes the state known as it is before the next record. It stays unknown when
// it cannot be read, or not at a reasonable price: the stream then has patches alone,
// as it has for a run that is long over. A run finds a thread without the values of the
// run before it.
func (f *follower) stateAt(ctx context.Context, head thread.Head) {
	s := &f.shown
	if s.fold != nil && s.next == f.next {
		return
	}
	s.fold = nil
	now, of, ok, err := f.stepper.StateAt(ctx, f.key, head, f.next-1, f.run)
	if err != nil {
		f.log.WarnContext(ctx, "the state of a stream cannot be read, it shows changes alone",
			"tenant", f.key.Tenant, "thread", f.key.Thread, "run", f.run, "error", err)
	}
	if err != nil || !ok {
		return
	}
	if of != f.run {
		now = now.BeginRun()
	}
	s.fold, s.next, s.revision = state.NewFold(now), f.next, now.Revision()
}

// showState emits the state before the next record: where the stream begins, if the
// thread has one, and where a step or the run ends that has changed it.
func (f *follower) showState(ctx context.Context, head thread.Head) error {
	if !f.shown.owed && !f.replayer.Changed() || !f.audience.wants(core.EventStateSnapshot) {
		return nil
	}
	f.stateAt(ctx, head)
	s := &f.shown
	if s.fold == nil {
		return nil // it is still owed, and may be known where the reader has caught up
	}
	begins, known := s.owed && !s.again, !s.owed
	s.owed, s.again = false, false
	document, empty := run.Shown(s.fold.Snapshot(), known)
	if empty && begins {
		return nil
	}
	return f.replayer.State(document, s.revision)
}

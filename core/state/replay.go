package state

import (
	"iter"

	"github.com/reveille-run/reveille/core"
)

// The errors of [ReplayTo]. Each is wrapped with the revisions in question.
var (
	// ErrUnknownRevision is a revision that the changes do not stop at: one before
	// the start, or one inside a change that several commits came to.
	ErrUnknownRevision = core.Errorf(core.CodeNotFound, "the revision is not known")
	// ErrFutureRevision is a revision behind the last change.
	ErrFutureRevision = core.Errorf(core.CodeNotFound, "the revision has not been reached")
	// ErrGap is a change that does not follow the one before it: some are missing, or
	// they are out of order.
	ErrGap = core.Errorf(core.CodeCorrupt, "the changes have a gap")
)

// Change is a patch of the log with the revision that it led to.
type Change struct {
	Patch    Patch
	Revision uint64
	From     uint64 // the revision that the patch starts from; 0: nobody has noted it

	// NewRun and NewStep say that values of an earlier run, or of an earlier step's
	// calls, have ended before the patch.
	NewRun  bool
	NewStep bool
}

// ReplayTo returns the state at a revision: what the changes, oldest first, make of the
// state that they start from. No change behind it is asked for. It is
// [ErrUnknownRevision], [ErrFutureRevision] or [ErrGap] when there is no such state; a
// patch that does not fit has code corrupt. Values of transient keys are never part of
// it.
func ReplayTo(start Snapshot, changes iter.Seq[Change], revision uint64) (Snapshot, error) {
	refuse := func(err error) (Snapshot, error) {
		return Snapshot{}, core.Errorf(core.CodeOf(err), "replaying state to revision %d: %w", revision, err)
	}
	if revision < start.revision {
		return refuse(core.Errorf(core.CodeNotFound, "%w: the changes start at revision %d", ErrUnknownRevision, start.revision))
	}
	f := NewFold(start)
	if revision == start.revision {
		return f.Snapshot(), nil
	}
	for c := range changes {
		if err := f.follow(c, revision); err != nil {
			return refuse(err)
		}
		if f.revision == revision {
			return f.Snapshot(), nil
		}
	}
	return refuse(core.Errorf(core.CodeNotFound, "%w: the last one is %d", ErrFutureRevision, f.revision))
}

// follow folds a change that leads no further than a revision.
func (f *Fold) follow(c Change, revision uint64) error {
	switch {
	case c.NewRun:
		f.BeginRun()
	case c.NewStep:
		f.BeginStep()
	}
	switch {
	case len(c.Patch) == 0:
		return nil
	case c.From != 0 && c.From != f.revision || c.Revision <= f.revision:
		return core.Errorf(core.CodeCorrupt, "%w: revision %d follows revision %d", ErrGap, c.Revision, f.revision)
	case c.Revision > revision:
		return core.Errorf(core.CodeNotFound, "%w: a change leads from revision %d to %d", ErrUnknownRevision, f.revision, c.Revision)
	}
	return f.Apply(c.Patch, c.Revision)
}

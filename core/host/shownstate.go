package host

import (
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
)

// shownState is the state as a stream's reader has it: the values that readers are shown
// (history.Visible), after the last record that the stream has shown. A follower reads it when
// the stream must show it; from then on the stream folds each record that it shows.
type shownState struct {
	fold     *state.Fold // nil: not known
	revision uint64      // of the whole state: the fold has the visible values alone
	next     uint64      // sequence of the record after the fold
	owed     bool        // the reader was shown no state, and must be
	again    bool        // a step was declared void that may have shown changes of the state
}

// apply folds the next record of the log. Values of single calls are not folded: they
// end with their step and readers are not shown them. The state becomes unknown if inline
// steps have moved past the fold; they have shown what they changed.
func (s *shownState) apply(entry threadlog.Entry) error {
	if s.fold == nil || entry.Seq != s.next {
		s.fold = nil
		return nil
	}
	s.next, s.revision = entry.Seq+1, max(s.revision, entry.Revision)
	if patch := entry.Patch.Only(history.Visible); len(patch) > 0 {
		return s.fold.Apply(patch, entry.Revision)
	}
	return nil
}

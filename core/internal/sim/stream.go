package sim

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/state"
)

// stream is a client's part of one stream. It checks the rules for every stream, with
// events of a step or of a follower from commits.
type stream struct {
	th    *threadState
	run   core.ID
	count uint64
	last  position.Position // of the last event that has one; zero: none, or the step starts again
	fold  *state.Fold       // the state that the client has; nil: none was shown
	blind bool              // it received none at the start: the state was empty, or it could not be read
}

// check looks at the next event: its number, its run, and that its place is after all
// earlier ones, so that a client may reconnect there.
func (s *stream) check(e core.Event) {
	s.count++
	if s.count == 1 {
		s.run = e.RunID
	}
	// An event of a child run is of no step, and has no place.
	step := e.Step > 0 || e.Type == core.EventRunYield
	if e.Child != nil {
		step = e.Step == 0 && e.Position == "" && !e.Child.RunID.IsZero() && e.Child.RunID != s.run && !e.Child.Parent.IsZero()
	}
	if e.Sequence != s.count || e.RunID != s.run || s.run.IsZero() || e.Time == 0 || !step {
		s.th.fail("event %d of the stream of run %s has another envelope: %+v", s.count, s.run, e)
	}
	switch e.Type {
	case core.EventStepRestarted: // the next event is at the place of the void part, or before
		s.last, s.fold = position.Position{}, nil // its changes may be void
	case core.EventStateSnapshot:
		s.checkState(e)
	case core.EventStateDelta:
		s.checkPatch(e)
	}
	if e.Position == "" {
		return
	}
	at, err := position.Parse(e.Position)
	switch {
	case err != nil || at.Run != s.run:
		s.th.fail("%s of run %s has the position %q", e.Type, s.run, e.Position)
	case s.last != position.Position{} && at.Compare(s.last) <= 0:
		s.th.fail("%s of run %s has the position %s, after %s", e.Type, s.run, e.Position, s.last)
	}
	s.last = at
}

// checkState: the whole is the client's state after the patches, and a state that the log
// has.
func (s *stream) checkState(e core.Event) {
	if s.fold != nil && !s.blind {
		if now, _ := s.fold.Snapshot().Document(history.Visible); string(now) != string(e.Snapshot) {
			s.th.fail("run %s shows the state %s, its patches result in %s", s.run, e.Snapshot, now)
		}
	}
	var document struct {
		Thread map[string]json.RawMessage `json:"thread"`
		Run    map[string]json.RawMessage `json:"run"`
	}
	if err := json.Unmarshal(e.Snapshot, &document); err != nil {
		s.th.fail("run %s shows the state %s: %v", s.run, e.Snapshot, err)
		return
	}
	values := map[state.KeyPath]json.RawMessage{}
	for name, value := range document.Thread {
		values[state.KeyPath{Scope: state.ScopeThread, Name: name}] = value
	}
	for name, value := range document.Run {
		values[state.KeyPath{Scope: state.ScopeRun, Name: name}] = value
	}
	s.fold, s.blind = state.Snapshot{}.With(e.Revision, values).Fold(), false
	s.th.checkStreamed(e, s.last == position.Position{} || s.last.Kind == position.RunStart)
}

// checkPatch: a patch fits the state that was shown.
func (s *stream) checkPatch(e core.Event) {
	if s.fold == nil {
		s.fold, s.blind = state.Snapshot{}.Fold(), true
	}
	var patch state.Patch
	err := json.Unmarshal(e.Patch, &patch)
	if err == nil {
		err = s.fold.Apply(patch, e.Revision)
	}
	if err != nil && s.blind {
		s.th.w.Stats.Streams.Blind++
		return
	}
	if err != nil {
		s.th.fail("run %s shows the patch %s to revision %d: %v", s.run, e.Patch, e.Revision, err)
	}
}

// checkStreamed: the log has had the state that is shown. The state that a run finds may
// be of a revision that the log does not have yet: it reverts the log to an earlier
// state.
func (th *threadState) checkStreamed(e core.Event, found bool) {
	for _, said := range append([]state.Snapshot{{}}, th.logged.states...) {
		if said.Revision() != e.Revision && !found {
			continue
		}
		for _, s := range []state.Snapshot{said, said.BeginRun()} {
			if document, _ := s.Document(history.Visible); string(document) == string(e.Snapshot) {
				th.w.Stats.Streams.States++
				return
			}
		}
	}
	th.fail("run %s shows the state %s at revision %d, which the log never had", e.RunID, e.Snapshot, e.Revision)
}

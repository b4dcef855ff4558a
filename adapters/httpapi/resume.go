package httpapi

import "github.com/reveille-run/reveille/core"

// resume drops from a replay what a reconnecting client has. The zero value
// drops nothing.
type resume struct {
	last      core.Position // of the client's Last-Event-ID
	active    bool
	restarted bool // step_restarted was sent
	passed    bool // something came that the client does not have
}

// resumeFrom reads a Last-Event-ID.
func resumeFrom(header string, runID core.ID) (resume, error) {
	if header == "" {
		return resume{}, nil
	}
	last, err := core.ParsePosition(header)
	if err != nil || last.Run != runID {
		return resume{}, core.Errorf(core.CodeInvalid, "header Last-Event-ID %q is not a position of run %s", core.Excerpt(header), runID)
	}
	return resume{last: last, active: true}, nil
}

// rest returns what of an event the client does not have: the whole event, the
// tail of a delta, or nothing. When the client's part of an inference is void,
// because a later attempt repeated it, step_restarted comes first.
func (r *resume) rest(e core.Event) []core.Event {
	if !r.active {
		return []core.Event{e}
	}
	at, err := core.ParsePosition(e.Position)
	switch {
	case err != nil && !r.passed && !r.begins() && (e.Type == core.EventStateSnapshot || e.Type == core.EventMessagesSnapshot):
		return nil // of before what the client has, which has led it past it
	case err != nil: // it has no place, so nobody can have it
		r.restarted = r.restarted || e.Type == core.EventStepRestarted
		return []core.Event{e}
	}
	e, ok := e.Behind(at, r.last)
	if !ok {
		return nil
	}
	r.passed = true
	// One that has had step_restarted was told.
	if at.Voids(r.last) && r.last.Kind != core.PositionRestart && !r.restarted {
		r.restarted = true
		return []core.Event{{Type: core.EventStepRestarted, Time: e.Time, RunID: e.RunID, Step: at.Step}, e}
	}
	return []core.Event{e}
}

// begins reports whether the client has nothing that has a place behind run_start, or of
// the step that begins again: the snapshots that come next have none, so that it may
// have missed them.
func (r *resume) begins() bool {
	return r.last.Kind == core.PositionRunStart || r.last.Kind == core.PositionRestart
}

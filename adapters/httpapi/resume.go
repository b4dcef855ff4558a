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
		return []core.Event{e}
	case at.Compare(r.last) <= 0:
		return nil
	}
	r.passed = true
	switch {
	case at.Step != r.last.Step || r.last.Kind == core.PositionRestart: // which it was told
		return []core.Event{e}
	case at.OfInference() && r.last.OfInference() && at.Attempt != r.last.Attempt && !r.restarted:
		r.restarted = true
		return []core.Event{{Type: core.EventStepRestarted, Time: e.Time, RunID: e.RunID, Step: at.Step}, e}
	}
	return []core.Event{r.cut(at, e)}
}

// begins reports whether the client has nothing that has a place behind run_start, or of
// the step that begins again: the snapshots that come next have none, so that it may
// have missed them.
func (r *resume) begins() bool {
	return r.last.Kind == core.PositionRunStart || r.last.Kind == core.PositionRestart
}

// cut drops from a delta the bytes of the block that the client has.
func (r *resume) cut(at core.Position, e core.Event) core.Event {
	if at.Attempt != r.last.Attempt || at.Block != r.last.Block {
		return e
	}
	if have := r.last.End - (at.End - len(e.Delta)); have > 0 && have < len(e.Delta) {
		e.Delta = e.Delta[have:]
	}
	return e
}

package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// lastEvent is the query parameter that stands for the header Last-Event-ID, for clients
// that may not set the header in a page of another origin, such as event-source-polyfill.
const lastEvent = "lastEventId"

// resume drops from a replay what a reconnecting client has. The zero value
// drops nothing.
type resume struct {
	last      core.Position // of the client's Last-Event-ID
	active    bool
	restarted bool // step_restarted was sent
	passed    bool // something came that the client does not have
	finishes  bool // run_finish is sent even if the client has it
}

// lastOf is the position that a client of a stream names last. The header counts before
// the query, which a client that reconnects by itself does not change.
func lastOf(r *http.Request) (string, error) {
	values, err := query(r.URL.RawQuery, lastEvent)
	if header := r.Header.Get("Last-Event-ID"); header != "" || err != nil {
		return header, err
	}
	return values.Get(lastEvent), nil
}

// resumeAgain reads the Last-Event-ID of a POST that is sent again with its key: which
// run that is shows in its first event. Such a stream ends in run_finish even if the
// client has it, since a client of a POST takes an empty response for a failure.
func resumeAgain(r *http.Request) (from resume, header string, err error) {
	if header = r.Header.Get("Last-Event-ID"); header == "" {
		return resume{}, "", nil
	}
	key, err := protocol.IdempotencyKey(r)
	if err != nil {
		return resume{}, "", err
	}
	if key == "" {
		return resume{}, "", core.Errorf(core.CodeInvalid, "header Last-Event-ID of a POST needs the header Idempotency-Key of the first request: without it the request would start another run")
	}
	last, err := core.ParsePosition(header)
	if err != nil {
		return resume{}, "", core.Errorf(core.CodeInvalid, "header Last-Event-ID %q is not a position of a run", core.Excerpt(header))
	}
	return resume{last: last, active: true, finishes: true}, header, nil
}

// fits returns an error for an event of a run that the client's position is not of.
func (r *resume) fits(e core.Event) error {
	if !r.active {
		return nil
	}
	of := e.RunID
	if at, err := core.ParsePosition(e.Position); err == nil {
		of = at.Run
	}
	if of.IsZero() || of == r.last.Run {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "Last-Event-ID %q is not a position of run %s", r.last.String(), of)
}

// resumeFrom reads the position that a client of a run's stream names.
func resumeFrom(header string, runID core.ID) (resume, error) {
	if header == "" {
		return resume{}, nil
	}
	last, err := core.ParsePosition(header)
	if err != nil || last.Run != runID {
		return resume{}, core.Errorf(core.CodeInvalid, "Last-Event-ID %q is not a position of run %s", core.Excerpt(header), runID)
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
	entire := e
	e, ok := e.Behind(at, r.last)
	if !ok {
		if r.finishes && entire.Type == core.EventRunFinish {
			return []core.Event{entire}
		}
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

package host

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
)

// Missed is what a reader that comes back to a run does not have yet: it drops from the
// run's events what the reader has. The zero value drops nothing. A protocol makes one for
// each stream, from the last event that its client names, and passes each event of
// [Host.Follow] through Rest, in order: what comes first decides about what comes later.
// It is not safe for concurrent use.
type Missed struct {
	// Finishes keeps run_finish even if the reader has it: for clients that take an empty
	// response for a failure.
	Finishes bool

	last      position.Position // of the last event that the reader has
	active    bool
	restarted bool // step_restarted was given
	passed    bool // something came that the reader does not have
}

// Have reports that the reader has every event of its run up to the one with this Position.
// Another text is an error with code [core.CodeInvalid].
func (m *Missed) Have(event string) error {
	last, err := position.Parse(event)
	if err != nil {
		return err
	}
	m.last, m.active = last, true
	return nil
}

// Active reports whether the reader has anything.
func (m *Missed) Active() bool { return m.active }

// Run returns the run that the reader has events of; zero: none.
func (m *Missed) Run() core.ID { return m.last.Run }

// Fits returns an error with code [core.CodeInvalid] for an event of a run that the
// reader has no events of.
func (m *Missed) Fits(e core.Event) error {
	if !m.active {
		return nil
	}
	// A position names its run, also in an event that does not.
	of := e.RunID
	if at, err := position.Parse(e.Position); err == nil {
		of = at.Run
	}
	if of.IsZero() || of == m.last.Run {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "%q is not a position of run %s", m.last.String(), of)
}

// Rest returns what of an event the reader does not have: the whole event, the tail of
// a delta, or nothing. When the reader's part of an inference is void, because a later
// attempt repeated it, step_restarted comes first.
func (m *Missed) Rest(e core.Event) []core.Event {
	if !m.active {
		return []core.Event{e}
	}
	at, err := position.Parse(e.Position)
	switch {
	case err != nil && !m.passed && !m.begins() && (e.Type == core.EventStateSnapshot || e.Type == core.EventMessagesSnapshot):
		return nil // of before what the reader has, which has led it past it
	case err != nil: // it has no place, so that no reader can name it
		m.restarted = m.restarted || e.Type == core.EventStepRestarted
		return []core.Event{e}
	}
	entire := e
	// From here on the event has a place, so that it is known whether the reader has it.
	e, ok := position.Behind(e, at, m.last)
	if !ok {
		if m.Finishes && entire.Type == core.EventRunFinish {
			return []core.Event{entire}
		}
		return nil
	}
	m.passed = true
	// A reader that has step_restarted knows it.
	if at.Voids(m.last) && m.last.Kind != position.Restart && !m.restarted {
		m.restarted = true
		return []core.Event{{Type: core.EventStepRestarted, Time: e.Time, RunID: e.RunID, Step: at.Step}, e}
	}
	return []core.Event{e}
}

// begins reports whether the reader has nothing whose position follows run_start, or nothing of
// the step that starts again. The snapshots that come next have no position, so that the reader
// may have missed them.
func (m *Missed) begins() bool {
	return m.last.Kind == position.RunStart || m.last.Kind == position.Restart
}

// RestartPosition is the position of a step_restarted event, which has none itself: before
// every attempt at the step. A reader that resumes after it receives all of the step, from the
// attempt that is committed.
func RestartPosition(run core.ID, step int) string {
	return position.Position{Run: run, Step: step, Kind: position.Restart}.String()
}

package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// History says when things happened in runs that were recorded, for a replay of
// them: the code is shown the record's clock, and comes to records with the same
// times. All are unix milliseconds; 0: the record does not say.
type History interface {
	// Run returns when a run began and when it ended.
	Run(run core.ID) (began, ended int64)
	// Turn returns when a step began and when its turn was complete.
	Turn(run core.ID, step int) (began, said int64)
	// Member returns what the record of a step's turn or failed inference says of the pool
	// of its agent; nil: nothing.
	Member(run core.ID, step int) *thread.Member
	// Window returns what the turn of a step was shown, or what the record of its failed
	// inference says of summaries; nil: there was none, or its record does not say. A
	// replay makes no summaries and uses those that the step did.
	Window(run core.ID, step int) *core.Window
	// Counted returns how many tokens the provider counted for the request of a step's
	// turn; 0: the record does not say.
	Counted(run core.ID, step int) int
	// Asked returns when the round began in which a call was asked about, behind so
	// many suspensions that were decided.
	Asked(run core.ID, step, call, decided int) int64
	// Place returns the place of a call's result in the order in which those of a parallel
	// round are merged, see [thread.Entry]; 0: it has none. A result is held back until
	// those before it have come.
	Place(run core.ID, step, call int) int
	// Result returns when the round began that came to a call's result, and when that
	// was.
	Result(run core.ID, step, call int) (began, ended int64)
}

// The clock of each record is read in one place, and nowhere else, so that it can be
// another's.

// beganAt is when the claim began the step: what hooks up to the turn are shown.
func (p *step) beganAt() (at int64) {
	switch {
	case p.history == nil:
		return p.env.Millis()
	case p.head.Run.Cursor == thread.CursorStart:
		at, _ = p.history.Run(p.id)
	default:
		at, _ = p.history.Turn(p.id, int(p.head.Run.Step)+1)
	}
	return at
}

// saidAt is when the turn of a step was complete, or the last words of a run said.
func (p *step) saidAt(number int) int64 {
	if p.history == nil {
		return p.env.Millis()
	}
	_, at := p.history.Turn(p.id, number)
	return at
}

// endedAt is when the run ends.
func (p *step) endedAt() int64 {
	if p.history == nil {
		return p.env.Millis()
	}
	_, at := p.history.Run(p.id)
	return at
}

// askedAt is the clock that gates, hooks and tool of a call are shown, which has gone
// on behind so many suspensions.
func (r *round) askedAt(i, decided int) int64 {
	if r.history == nil {
		return r.began
	}
	return r.history.Asked(r.id, r.events.Step(), i, decided)
}

// resultAt returns the clock of a result and when it was made.
func (r *round) resultAt(i int) (began, ended int64) {
	if r.history == nil {
		return r.began, r.env.Millis()
	}
	return r.history.Result(r.id, r.events.Step(), i)
}

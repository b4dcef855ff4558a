package replay

import (
	"cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A recording is the run.Choices of its run: everything that the records do not decide
// beforehand is as they have it.
var _ run.Choices = (*recording)(nil)

// Time implements run.Choices.
func (r *recording) Time(at run.Instant) int64 {
	s := r.steps[at.Step]
	switch at.Kind {
	case run.InstantRun:
		return cmp.Or(r.steps[1].began(), r.record.StartedAt)
	case run.InstantFirst:
		return r.record.StartedAt
	case run.InstantStep:
		return s.began()
	case run.InstantSaid:
		return s.said()
	case run.InstantEnd:
		return r.record.FinishedAt
	case run.InstantAsked:
		if s != nil && at.Decided < len(s.asked[at.Call]) {
			return s.asked[at.Call][at.Decided].CreatedAt
		}
	}
	result := s.result(at.Call)
	switch {
	case result == nil:
		return 0
	case at.Kind == run.InstantResult:
		return result.Message.CreatedAt
	}
	return result.At
}

// began is when a step began; 0: it is not recorded.
func (s *recordedStep) began() int64 {
	switch {
	case s == nil:
	case s.turn != nil:
		return s.turn.At
	case s.words != nil:
		return s.words.At
	case s.failed != nil:
		return s.failed.At
	}
	return 0
}

// said is when the turn of a step was complete, or the record in its place; 0: no record.
func (s *recordedStep) said() int64 {
	switch {
	case s == nil:
	case s.turn != nil:
		return s.turn.Message.CreatedAt
	case s.words != nil:
		return s.words.Message.CreatedAt
	case s.failed != nil:
		return s.failed.Failed.At
	}
	return 0
}

// Member implements run.Choices.
func (r *recording) Member(_ core.ID, step int) (m *thread.Member, fixed bool) {
	switch s := r.steps[step]; {
	case s == nil:
	case s.turn != nil:
		m = s.turn.Member
	case s.words != nil:
		m = s.words.Member
	case s.failed != nil:
		m = s.failed.Member
	}
	return m, true
}

// Summary implements run.Choices.
func (r *recording) Summary(_ core.ID, step int) (w *core.Window, fixed bool) {
	switch s := r.steps[step]; {
	case s == nil:
	case s.turn != nil:
		w = s.turn.Window
	case s.failed != nil:
		w = s.failed.Window
	}
	return w, true
}

// Unfinished implements run.Choices.
func (r *recording) Unfinished(core.ID) (u *thread.Unfinished, fixed bool) {
	return r.record.Unfinished, true
}

// Counted implements run.Choices.
func (r *recording) Counted(_ core.ID, step, _ int) int {
	if s := r.steps[step]; s != nil && s.turn != nil && s.turn.Window != nil {
		return s.turn.Window.Tokens
	}
	return 0
}

// Known implements run.Choices.
func (r *recording) Known(_ core.ID, step, _ int) int {
	if s := r.steps[step]; s != nil && s.turn != nil && s.turn.Window != nil {
		return s.turn.Window.Known
	}
	return 0
}

// Place implements run.Choices.
func (r *recording) Place(_ core.ID, step, call, next int) (place int, fixed bool) {
	if result := r.steps[step].result(call); result != nil {
		place = int(result.Place)
	}
	return cmp.Or(place, next), true
}

// Acts implements run.Choices: effects have happened.
func (*recording) Acts() bool { return false }

package emf

import (
	"cmp"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
)

// Ended writes the line of a run that is done, or that has started to wait: by the status
// and the termination of its record.
func (w *Writer) Ended(key core.ThreadKey, r core.Run) {
	l := w.line(key, r.ID, r.AgentID)
	l.Steps, l.Runs = r.Steps, one()
	if r.Status == core.RunWaiting {
		l.Outcome = waiting
		l.counts(false, "Runs", "Outcome")
		w.write(l)
		return
	}
	var end core.Termination
	if r.Termination != nil {
		end = *r.Termination
	}
	l.Outcome, l.Reason = within(outcomes, string(end.Type)), end.Code
	if began := cmp.Or(r.StartedAt, r.CreatedAt); began != 0 { // a run that ended before its first step has no start
		l.Millis = max(r.FinishedAt-began, 0)
	}
	l.counts(true, "Runs", "Outcome")
	w.fails(l, end)
	w.write(l)
}

// fails adds what the line of a run's end says of its failure. Each end has the metric
// Failed, with 0 for one that did not fail: the share of failed runs has a value wherever
// runs ended.
func (w *Writer) fails(l *line, end core.Termination) {
	failed := end.Type == core.TerminationError && end.Code != codeExpired
	l.Failed = new(0)
	if !failed {
		l.counts(true, "Failed")
	} else {
		l.Failed, l.Code = one(), within(codes, end.Code)
		l.counts(true, "Failed", "Code", "Function")
	}
	switch {
	case end.Type != core.TerminationError:
	case end.Code == codeExpired:
		l.Expired = one()
		l.counts(true, "Expired")
	case end.Code == codeDeadLetter:
		l.DeadLetters, l.Kind = one(), letterRun
		l.counts(true, "DeadLetters", "Kind")
	}
}

// DeadWakeUp writes the line of a wake-up that failed five times. woken means that its
// thread had work to do and was woken again.
func (w *Writer) DeadWakeUp(hint core.WakeUp, woken bool) {
	l := w.line(hint.Key(), core.ID{}, "")
	l.DeadLetters, l.Kind, l.Woken = one(), letterWakeUp, &woken
	l.counts(true, "DeadLetters", "Kind")
	w.write(l)
}

// Quarantined writes the line of a thread that was quarantined, because its head is damaged.
func (w *Writer) Quarantined(key core.ThreadKey) {
	l := w.line(key, core.ID{}, "")
	l.DeadLetters, l.Kind = one(), letterThread
	l.counts(true, "DeadLetters", "Kind")
	w.write(l)
}

// Late writes the line of a step that started so late, if it is more than [lateAfter].
func (w *Writer) Late(key core.ThreadKey, run core.ID, agent string, late time.Duration) {
	if late <= lateAfter {
		return
	}
	l := w.line(key, run, agent)
	l.LateWakeUps, l.Lateness = one(), new(late.Milliseconds())
	l.counts(true, "LateWakeUps")
	l.counts(true, "Lateness")
	w.write(l)
}

// ModelErrors writes the line of calls of a model that failed for the same reason. kind is
// a model.ErrorKind.
func (w *Writer) ModelErrors(key core.ThreadKey, run core.ID, agent, provider, model, kind string, calls int) {
	l := w.line(key, run, agent)
	l.Provider, l.Model, l.Reason, l.Kind, l.ModelErrors = provider, model, kind, within(kinds, kind), &calls
	l.counts(l.Kind == other || slices.Contains(providerKinds, kind), "ModelErrors", "Kind")
	w.write(l)
}

package runtime

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// audience is the one place that knows whether somebody listens to a stream, and
// what they have heard. Whoever emits tells it everything, in any order and as
// often as it comes up; the listener is called with what is new, and never again
// after it failed, panicked or had the last event.
//
// A stream has one run_start and one last event, and each result and ticket once:
// a step that goes on with an open round, and the log when it comes to it, tell
// again what is there.
//
// It has no lock. An inline step emits from one goroutine at a time, and has
// returned before the follower goes on.
type audience struct {
	listener Listener
	env      *env.Env
	earlier  []core.Message // for messages_snapshot, behind run_start
	sequence uint64         // of the last event
	step     int            // of the last event of one
	gone     error          // why nobody is emitted to any more; nil: somebody is
	started  bool           // run_start was emitted
	finished bool           // run_finish was emitted
	changed  bool           // the state was shown to change
	partial  bool           // part of a step was shown that may come to nothing
	shown    map[mark]bool  // what was shown that may come again
}

func (r *Runtime) newAudience(listener Listener) audience {
	return audience{listener: listener, env: r.env}
}

// errOver is the error of an audience that has had the stream's last event.
var errOver = core.Errorf(core.CodeInternal, "the stream is over")

// over reports whether there is nobody to emit to, or nothing more to emit.
func (a *audience) over() bool { return a.gone != nil }

// emit is the run.Sink of whoever emits. Its error is the reason why nobody
// listens, the same for every event that follows.
func (a *audience) emit(e core.Event) error {
	if a.gone != nil || !a.wants(e.Type) || !a.news(e) {
		return a.gone
	}
	if err := a.tell(e); err != nil {
		return err
	}
	if e.Type == core.EventRunStart && len(a.earlier) > 0 {
		messages := a.earlier
		a.earlier = nil
		return a.tell(core.Event{Type: core.EventMessagesSnapshot, RunID: e.RunID, Step: e.Step, Messages: messages})
	}
	return a.gone
}

// tell calls the listener. This is where a stream is cut: its events are numbered here,
// and those of no record happen now.
func (a *audience) tell(e core.Event) error {
	a.sequence++
	e.Sequence = a.sequence
	if e.Time == 0 {
		e.Time = core.Millis(a.env.Millis())
	}
	if e.Step > 0 {
		a.step = e.Step
	}
	if err := env.Protect(func() error { return a.listener.Emit(e) }); err != nil {
		a.gone = fmt.Errorf("nobody listens: %w", err)
		return a.gone
	}
	if e.Type == core.EventRunFinish || e.Type == core.EventRunYield {
		a.gone = errOver // whoever emits more is told, but this event was taken
		a.finished = e.Type == core.EventRunFinish
	}
	return nil
}

// wants reports whether the listener is given events of a type, see [Choosing].
func (a *audience) wants(t core.EventType) bool {
	switch t {
	case core.EventStateDelta, core.EventStateSnapshot, core.EventMessagesSnapshot:
		if c, ok := a.listener.(Choosing); ok {
			return c.Wants(t)
		}
		return t != core.EventMessagesSnapshot
	}
	return true
}

// news reports whether the listener has not had the event, and notes that it will.
func (a *audience) news(e core.Event) bool {
	switch e.Type {
	case core.EventRunStart:
		if a.started {
			return false
		}
		a.started = true
	case core.EventStepEnd: // told again by whoever goes on behind a step that failed after it
		a.partial = true
		return a.first(endMark(e.Step))
	case core.EventStateDelta:
		a.partial, a.changed = true, true
		return a.first(changeMark(e.Revision))
	case core.EventStepRestarted: // the listener forgets the step, results and all
		clear(a.shown)
	case core.EventToolCallDone: // its step has begun before it, or its turn stands
		return a.first(resultMark(e.MessageID))
	case core.EventToolCallSuspended:
		return e.Ticket == nil || a.first(ticketMark(e.Ticket.Suspension.ID))
	case core.EventToolCallResumed:
		return a.first(decisionMark(e.CallID, e.DecisionID))
	case core.EventStateSnapshot: // it is committed
	default:
		a.partial = true
	}
	return true
}

// ready waits for a slow listener, which only callers that show what is stored may
// do: a run waits for nobody. The error is emit's, or ctx's cause.
func (a *audience) ready(ctx context.Context) error {
	if a.gone != nil {
		return a.gone
	}
	err := env.Protect(func() error { return a.listener.Ready(ctx) })
	if err != nil && ctx.Err() != nil { // the time is over; the listener may still take the last event
		return context.Cause(ctx)
	}
	if err != nil {
		a.gone = fmt.Errorf("nobody listens: %w", err)
	}
	return a.gone
}

// first notes that something is shown, and reports whether it was not before.
func (a *audience) first(m mark) bool {
	if a.shown[m] {
		return false
	}
	if a.shown == nil {
		a.shown = map[mark]bool{}
	}
	a.shown[m] = true
	return true
}

// stored notes that what was shown of a step stands.
func (a *audience) stored() { a.partial = false }

// restart tells that the step which was shown in part comes again, if there is one.
// state says that the reader's is to be shown anew: what the step changed may be void.
func (a *audience) restart(run core.ID) (state bool) {
	if a.partial {
		_ = a.emit(core.Event{Type: core.EventStepRestarted, RunID: run, Step: a.step}) // it remembers who is gone
	}
	return a.partial && a.changed
}

// yield emits run_yield, which ends the stream and not the run.
func (a *audience) yield(run core.ID) {
	_ = a.emit(core.Event{Type: core.EventRunYield, RunID: run, Step: a.step}) // it remembers who is gone
}

// mark names a result, by its message id, a ticket, by its suspension id, a decision that
// the run went on after, by its own id and its call's, a change of the state, by its
// revision, or the end of a step.
type mark struct {
	result, ticket, decision string
	number                   uint64
	end                      bool
}

func changeMark(revision uint64) mark { return mark{number: revision} }

func endMark(step int) mark { return mark{number: uint64(step), end: true} }

func decisionMark(call, decision string) mark {
	return mark{ticket: call, decision: decision}
}

func resultMark(message string) mark { return mark{result: message} }

func ticketMark(suspension string) mark { return mark{ticket: suspension} }

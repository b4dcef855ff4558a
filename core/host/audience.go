package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// audience alone knows whether a stream's listener is still there and what it has
// received. Emitters pass it every event, in any order and as often as they meet one; it
// calls the listener with what is new, and never again after the listener failed,
// panicked or received the last event.
//
// A stream has one run_start, one last event, and each result and ticket once. An
// emitter may repeat them: a step that continues an open round does, and so does the log.
//
// It has no lock. An inline step emits from one goroutine at a time, and has returned
// before a follower emits.
type audience struct {
	listener Listener
	env      *env.Env
	// earlier are the messages for a messages_snapshot after run_start; nil: none is sent.
	earlier  []core.Message
	sequence uint64 // of the last event; the first one has 1
	// gone is why nothing is emitted any more: an error of the listener, or errOver; nil: the
	// listener is there.
	gone     error
	started  bool // run_start was emitted
	finished bool // run_finish was emitted
	changed  bool // a change of the state was shown
	// partial reports that part of a step was shown that may become void: step_restarted
	// announces that, and nothing else may follow it unannounced.
	partial bool
	step    int32 // of the last event that has one
	// shown has the items that were shown and may be emitted again.
	shown map[item]struct{}
}

func newAudience(e *env.Env, listener Listener) audience { return audience{listener: listener, env: e} }

// errOver is the error of an audience that has received the stream's last event.
var errOver = core.Errorf(core.CodeInternal, "the stream is over")

// over reports whether nothing can be emitted any more.
func (a *audience) over() bool { return a.gone != nil }

// emit is the history.Sink of all emitters. Its error says why the listener is gone, the same
// for every later event.
func (a *audience) emit(e core.Event) error {
	if a.gone != nil || !a.wants(e.Type) || !a.isNew(e) {
		return a.gone
	}
	if err := a.deliver(e); err != nil {
		return err
	}
	// The snapshot follows run_start, and is sent once.
	if e.Type == core.EventRunStart && len(a.earlier) > 0 {
		messages := a.earlier
		a.earlier = nil
		return a.deliver(core.Event{Type: core.EventMessagesSnapshot, RunID: e.RunID, Step: e.Step, Messages: messages})
	}
	return a.gone
}

// deliver calls the listener. A stream is numbered here, and an event that no record
// dates happens now.
func (a *audience) deliver(e core.Event) error {
	// The number counts every event that the listener was called with, also one that it
	// failed on: nothing follows that one.
	a.sequence++
	e.Sequence = a.sequence
	if e.Time == 0 {
		e.Time = core.Millis(a.env.Millis())
	}
	if e.Step > 0 {
		a.step = int32(e.Step)
	}
	if err := env.Protect(func() error { return a.listener.Emit(e) }); err != nil {
		a.gone = fmt.Errorf("the listener is gone: %w", err)
		return a.gone
	}
	if e.Type == core.EventRunFinish || e.Type == core.EventRunYield {
		a.gone = errOver // for later events: the listener has taken this one
		a.finished = e.Type == core.EventRunFinish
	}
	return nil
}

// wants reports whether the listener receives events of a type, see [Choosing].
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

// isNew reports whether the listener has not received the event, and notes that it will.
func (a *audience) isNew(e core.Event) bool {
	if e.Child != nil {
		return a.isNewOfChild(e)
	}
	switch e.Type {
	case core.EventRunStart:
		if a.started {
			return false
		}
		a.started = true
	case core.EventStepEnd: // it is emitted again if the step failed after it
		a.partial = true
		return a.first(endItem(e.Step))
	case core.EventStateDelta:
		a.partial, a.changed = true, true
		return a.first(changeItem(e.Revision))
	case core.EventStepRestarted: // the listener forgets the step with its results
		clear(a.shown)
	case core.EventToolCallDone: // its step started before it, or its turn is committed
		return a.first(resultItem(e.MessageID))
	case core.EventToolCallSuspended:
		return e.Ticket == nil || a.first(ticketItem(e.Ticket.Suspension.ID))
	case core.EventToolCallResumed:
		return a.first(decisionItem(e.CallID, e.DecisionID))
	case core.EventStateSnapshot: // it is committed
	default: // an event of a step: text, calls, retries
		a.partial = true
	}
	return true
}

// isNewOfChild is isNew for an event of a child run, which is of no step of the stream's run: it
// never becomes void with one, and a restarted step does not void it. The name of a result
// contains its run. A suspension and a call may have the names of the stream's own, so that the
// child run is part of theirs.
func (a *audience) isNewOfChild(e core.Event) bool {
	of := e.Child.RunID.String() + "/"
	switch e.Type {
	case core.EventToolCallDone:
		return a.first(resultItem(e.MessageID))
	case core.EventToolCallSuspended:
		return a.first(ticketItem(of + e.Ticket.Suspension.ID))
	case core.EventToolCallResumed:
		return a.first(decisionItem(of+e.CallID, e.DecisionID))
	}
	return true
}

// ready waits for a slow listener. Only emitters of stored events may call it: a run never
// waits for its readers. The error is emit's, or ctx's cause.
func (a *audience) ready(ctx context.Context) error {
	if a.gone != nil {
		return a.gone
	}
	err := env.Protect(func() error { return a.listener.Ready(ctx) })
	if err != nil && ctx.Err() != nil { // the time is over; the listener may still take the last event
		return context.Cause(ctx)
	}
	if err != nil {
		a.gone = fmt.Errorf("the listener is gone: %w", err)
	}
	return a.gone
}

// first notes that something is shown, and reports whether it was not shown before.
func (a *audience) first(i item) bool {
	if _, had := a.shown[i]; had {
		return false
	}
	if a.shown == nil {
		a.shown = map[item]struct{}{}
	}
	a.shown[i] = struct{}{}
	return true
}

// stored notes that the events shown of a step are committed.
func (a *audience) stored() { a.partial = false }

// restart emits step_restarted if a step was shown in part and will be shown again.
// state reports that the step changed the state, so that the reader needs a new snapshot.
func (a *audience) restart(run core.ID) (state bool) {
	if a.partial {
		_ = a.emit(core.Event{Type: core.EventStepRestarted, RunID: run, Step: int(a.step)}) // gone keeps the error
	}
	return a.partial && a.changed
}

// yield emits run_yield, which ends the stream and not the run.
func (a *audience) yield(run core.ID) {
	_ = a.emit(core.Event{Type: core.EventRunYield, RunID: run, Step: int(a.step)}) // gone keeps the error
}

// item names a thing that a stream shows at most once. A result is named by its message id, a
// ticket by its suspension id, a decision by its own id and its call's. A change of the state
// is named by its revision, the end of a step by the step's number.
type item struct {
	name   string
	number uint64 // its kind is in the highest byte
}

type itemKind uint8

const (
	itemResult itemKind = iota
	itemTicket
	itemDecision
	itemChange
	itemEnd
)

func (k itemKind) named(name string) item { return item{name: name, number: uint64(k) << 56} }
func (k itemKind) numbered(n uint64) item { return item{number: uint64(k)<<56 | n} }

func resultItem(message string) item    { return itemResult.named(message) }
func ticketItem(suspension string) item { return itemTicket.named(suspension) }
func changeItem(revision uint64) item   { return itemChange.numbered(revision) }
func endItem(step int) item             { return itemEnd.numbered(uint64(step)) }

func decisionItem(call, decision string) item {
	return itemDecision.named(call + "\x00" + decision) // which no decision has
}

package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Replayer turns the committed records of one run back into its events: what a
// client that comes late, or to another process, is shown. Text comes in one
// delta per block. Of an open round it shows what the head has of it already.
//
// Its positions are those of the live stream, made by the same emitter from the
// same places: a client that has seen a part of the stream, live or replayed, goes
// on behind it in the other. It reads no store; whoever reads the log in order
// hands it the records. One goroutine uses it.
type Replayer struct {
	run    core.Run
	events emitter
	open   int // calls of the turn that have no result yet
	turn   *core.Message
}

// NewReplayer starts with the run's run_start event.
func NewReplayer(run core.Run, sink Sink) *Replayer {
	r := &Replayer{run: run, events: emitter{run: run.ID, sink: sink, step: 1}}
	r.events.emit(core.Event{Type: core.EventRunStart, ThreadID: run.ThreadID, RunID: run.ID, AgentID: run.AgentID})
	return r
}

// Pass takes the run's next record in without its events: the reader has them.
func (r *Replayer) Pass(entry thread.Entry) {
	sink := r.events.sink
	r.events.sink = nil
	_ = r.Add(entry) // nothing is emitted
	r.events.sink = sink
}

// Add emits the events of the run's next record. An error is the sink's: nobody
// listens any more.
func (r *Replayer) Add(entry thread.Entry) error {
	m := entry.Message
	if entry.Failed != nil && entry.Run == r.run.ID {
		r.replayFailure(entry)
	}
	if m == nil || entry.Run != r.run.ID {
		return r.events.err
	}
	switch m.Role {
	case core.RoleAssistant:
		r.events.fence = entry.Attempt
		r.events.step = m.Step
		r.turn, r.open = m, len(m.ToolCalls)
		r.replayTurn(m)
	case core.RoleTool:
		// The log has results in call order, so that the open calls say which it is.
		index := 0
		if r.turn != nil {
			index = len(r.turn.Content) + len(r.turn.ToolCalls) - r.open
		}
		r.events.emitAt(resultEvent(m), index, 0)
		r.open--
	default:
		return r.events.err
	}
	// A turn without calls ends its step as well: there is nothing to wait for.
	if r.open == 0 {
		r.events.emit(core.Event{Type: core.EventStepEnd})
	}
	return r.events.err
}

// Early emits the result of call i of the last turn, which the head marks done
// while others of its round are open. behind says that a call before it is: then
// the event has no position, so that a reader who reconnects, and says where it
// was, is given it again and not what it has not seen yet. Add emits the event
// once more when the log comes to it. The error is as for Add.
func (r *Replayer) Early(i int, entry thread.Entry, behind bool) error {
	if entry.Message == nil || entry.Message.ToolResult == nil || r.turn == nil {
		return r.events.err
	}
	if behind {
		r.events.emitUnplaced(resultEvent(entry.Message))
		return r.events.err
	}
	r.events.emitAt(resultEvent(entry.Message), len(r.turn.Content)+i, 0)
	return r.events.err
}

// Suspended emits a ticket of the open round, without a position: it stands
// until it is decided, and whoever connects until then is shown it. The error is
// as for Add.
func (r *Replayer) Suspended(t core.Ticket) error {
	r.events.emitUnplaced(suspendedEvent(t))
	return r.events.err
}

// suspendedEvent announces a ticket.
func suspendedEvent(t core.Ticket) core.Event {
	return core.Event{Type: core.EventToolCallSuspended, CallID: t.Call.ID, Name: t.Call.Name, Ticket: &t}
}

// ResultID is the message id of the result of a call, by its index in the turn of
// a step.
func ResultID(run core.ID, step, index int) string { return resultID(run, step, index) }

// replayTurn emits a turn as a model that says each block at once would have. All
// calls begin before the first is ready, as in a live turn.
func (r *Replayer) replayTurn(m *core.Message) {
	at := func(e core.Event, block, end int) {
		e.MessageID = m.ID
		r.events.emitAt(e, block, end)
	}
	r.events.emit(core.Event{Type: core.EventStepStart, MessageID: m.ID})
	for i, b := range m.Content {
		kind := core.EventTextDelta
		if b.Type == core.BlockReasoning {
			kind = core.EventReasoningDelta
		}
		if b.Text != "" {
			at(core.Event{Type: kind, Delta: b.Text}, i, len(b.Text))
		}
	}
	for i, c := range m.ToolCalls {
		block := len(m.Content) + i
		at(core.Event{Type: core.EventToolCallStart, CallID: c.ID, Name: c.Name}, block, 0)
		at(core.Event{Type: core.EventToolCallDelta, CallID: c.ID, Delta: string(c.Arguments)}, block, len(c.Arguments))
	}
	for i, c := range m.ToolCalls {
		block := len(m.Content) + i
		at(core.Event{Type: core.EventToolCallReady, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}, block, len(c.Arguments))
	}
	at(core.Event{Type: core.EventInferenceComplete, Model: m.Model, Usage: m.Usage, StopReason: m.StopReason}, len(m.Content)+len(m.ToolCalls), 0)
}

// replayFailure emits a step whose inference failed: nothing of what it had said is
// left.
func (r *Replayer) replayFailure(entry thread.Entry) {
	r.events.fence, r.events.step = entry.Attempt, entry.Step
	r.turn, r.open = nil, 0
	id := turnID(r.run.ID, entry.Step)
	r.events.emit(core.Event{Type: core.EventStepStart, MessageID: id})
	r.events.inferenceFailed(id, entry.Failed)
	r.events.emit(core.Event{Type: core.EventStepEnd})
}

// Finish emits the end of the stream: of the run when it is done or waits, of
// the stream alone when it goes on. run is read after the last record was added:
// an end that came meanwhile is shown, and nothing of it is missing. The error is
// as for Add.
func (r *Replayer) Finish(run core.Run) error {
	switch {
	case run.Status == core.RunDone:
		r.events.emit(core.Event{Type: core.EventRunFinish, RunID: run.ID, Response: run.Response, Termination: run.Termination})
	case run.Status == core.RunWaiting:
		r.events.emit(core.Event{Type: core.EventRunFinish, RunID: run.ID, Termination: &core.Termination{Type: core.TerminationSuspended}})
	default:
		r.events.emit(core.Event{Type: core.EventRunYield, RunID: run.ID})
	}
	return r.events.err
}

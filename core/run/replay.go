package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Replayer turns the committed records of one run back into its events: what a
// client that comes late, or to another process, is shown. Text comes in one
// delta per block.
type Replayer struct {
	run    core.Run
	events emitter
	open   int // calls of the turn that have no result yet
	turn   *core.Message
	failed error
}

// NewReplayer starts with the run's run_start event.
func NewReplayer(run core.Run, sink Sink) *Replayer {
	r := &Replayer{run: run}
	r.events = emitter{run: run.ID, sink: func(e core.Event) error {
		r.failed = sink(e)
		return r.failed
	}}
	r.events.step = 1
	r.events.emit(core.Event{Type: core.EventRunStart, ThreadID: run.ThreadID, RunID: run.ID, AgentID: run.AgentID})
	return r
}

// Add emits the events of the run's next record. An error is the sink's: nobody
// listens any more.
func (r *Replayer) Add(entry thread.Entry) error {
	m := entry.Message
	if m == nil || entry.Run != r.run.ID {
		return r.failed
	}
	switch m.Role {
	case core.RoleAssistant:
		r.events.fence = entry.Attempt
		r.events.step = m.Step
		r.turn, r.open = m, len(m.ToolCalls)
		r.replayTurn(m)
	case core.RoleTool:
		index := 0
		if r.turn != nil {
			index = len(r.turn.Content) + len(r.turn.ToolCalls) - r.open
		}
		r.events.emitAt(resultEvent(m), index, 0)
		r.open--
	default:
		return r.failed
	}
	if r.open == 0 {
		r.events.emit(core.Event{Type: core.EventStepEnd})
	}
	return r.failed
}

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

// Finish emits the end of the stream: of the run when it is done or waits, of
// the stream alone when it goes on.
func (r *Replayer) Finish(run core.Run) error {
	switch {
	case run.Status == core.RunDone:
		r.events.emit(core.Event{Type: core.EventRunFinish, RunID: run.ID, Response: run.Response, Termination: run.Termination})
	case run.Status == core.RunWaiting:
		r.events.emit(core.Event{Type: core.EventRunFinish, RunID: run.ID, Termination: &core.Termination{Type: core.TerminationSuspended}})
	default:
		r.events.emit(core.Event{Type: core.EventRunYield, RunID: run.ID})
	}
	return r.failed
}

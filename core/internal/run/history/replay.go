package history

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Replayer makes the events of one run from its committed records, for a client
// that comes late, or to another process. Text comes in one delta per block. For an
// open round it emits the calls and results that the head has already.
//
// Its positions are those of the live stream, made by the same [Emitter] from the same
// places: a client that has seen a part of the stream, live or replayed, resumes after it
// in the other. A Replayer reads no store: the caller reads the log in order and hands it
// the records. One goroutine uses it.
type Replayer struct {
	run    core.Run
	events Emitter
	open   int // calls of the turn that have no result yet
	turn   *core.Message
	said   int64 // when the last of the step was said: its turn, or its latest result; unix milliseconds
	due    bool  // the step is whole, and its end was not emitted: its record may come next
}

// NewReplayer starts with the run's run_start event.
func NewReplayer(run core.Run, sink Sink) *Replayer {
	r := &Replayer{run: run, events: Emitter{run: run.ID, sink: sink, step: 1}, said: run.CreatedAt}
	r.events.Start(&run, run.ThreadID)
	return r
}

// Pass takes the run's next record without its events: the client has them.
func (r *Replayer) Pass(entry thread.Entry) {
	sink := r.events.sink
	r.events.sink = nil
	_ = r.Add(entry) // nothing is emitted
	r.events.sink, r.due = sink, false
}

// Add emits the events of the run's next record; a record of another run is passed over.
// The end of a step waits for the next record, or for [Replayer.Flush], since what the
// step changed comes before it. An error is the sink's: no client listens any more.
func (r *Replayer) Add(entry thread.Entry) error {
	m := entry.Message
	if entry.Run != r.run.ID {
		return r.events.err
	}
	if m != nil || entry.Closing || entry.Failed != nil {
		r.endStep()
	}
	r.date(&entry)
	switch {
	case entry.Failed != nil:
		r.replayFailure(&entry)
		r.said, r.due = entry.Failed.At, true
		return r.events.err
	case m == nil:
		if entry.Closing {
			r.events.step = entry.Step
		}
		r.events.Change(&entry)
		return r.events.err
	case m.Role == core.RoleAssistant:
		r.events.fence = entry.Attempt
		r.events.step = m.Step
		r.turn, r.open, r.said = m, len(m.ToolCalls), 0
		r.replayTurn(&entry)
	case m.Role == core.RoleTool:
		// The log has results in call order, so that the open calls determine the
		// index.
		index := 0
		if r.turn != nil {
			index = len(r.turn.Content) + len(r.turn.ToolCalls) - r.open
		}
		r.events.Result(&entry, index)
		r.open--
	default:
		return r.events.err
	}
	r.said = max(r.said, m.CreatedAt)
	r.due = r.open == 0 // a turn without calls ends its step as well: there is nothing to wait for
	return r.events.err
}

// date gives a record that was stored without a time the time of what it holds, so that
// every stream says the same.
func (r *Replayer) date(entry *thread.Entry) {
	if entry.At != 0 {
		return
	}
	if entry.At = r.said; entry.Message != nil {
		entry.At = entry.Message.CreatedAt
	}
}

// Flush emits the end of a step whose records were all added, as when they are all
// that a head covers: a step's records become visible together. The error is as for
// Add.
func (r *Replayer) Flush() error {
	r.endStep()
	return r.events.err
}

// endStep emits the end of a step whose turn and results were all added.
func (r *Replayer) endStep() {
	if r.due {
		r.due = false
		r.events.StepEnd(r.said)
	}
}

// Changed reports whether a patch followed the last shown state, of a step or run that is
// over: the state is to be shown before the next event, see [Replayer.State].
func (r *Replayer) Changed() bool { return r.events.changed && r.open == 0 }

// State emits the state of the thread after the last record that was added, as [Shown]
// makes it, without a position. The error is as for Add.
func (r *Replayer) State(document json.RawMessage, revision uint64) error {
	r.events.State(document, revision)
	return r.events.err
}

// Early emits the result of call i of the last turn, which the head marks done
// while others of its round are open. If the last argument is set, an earlier call is open:
// then the event has no position, so that a client which reconnects with its last
// position receives the event again. Add emits it once more when the log has it.
// The error is as for Add.
func (r *Replayer) Early(i int, entry thread.Entry, behind bool) error {
	if entry.Message == nil || entry.Message.ToolResult == nil || r.turn == nil {
		return r.events.err
	}
	if behind {
		r.events.ResultUnplaced(&entry)
		return r.events.err
	}
	r.events.Result(&entry, len(r.turn.Content)+i)
	return r.events.err
}

// Suspended emits a ticket of the open round, without a position: until it is decided,
// every client that connects receives it. The error is as for Add.
func (r *Replayer) Suspended(t core.Ticket) error {
	r.events.Suspended(t)
	return r.events.err
}

// replayTurn emits a turn as a model that says each block in one delta would have. All
// calls start before the first is ready, as in a live turn.
func (r *Replayer) replayTurn(entry *thread.Entry) {
	m := entry.Message
	at := func(e core.Event, block, end int) {
		e.MessageID, e.Time = m.ID, core.Millis(m.CreatedAt)
		r.events.EmitAt(e, block, end)
	}
	r.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(entry.At), MessageID: m.ID})
	for i, b := range m.Content {
		kind := core.EventTextDelta
		if b.Type == core.BlockReasoning {
			kind = core.EventReasoningDelta
		}
		if b.Text != "" {
			at(core.Event{Type: kind, Delta: b.Text}, i, len(b.Text))
		}
		if b.Type == core.BlockReasoning && b.Echo != nil {
			at(core.Event{Type: core.EventReasoningEncrypted, EncryptedValue: b.Echo}, i, len(b.Text))
		}
	}
	for i, c := range m.ToolCalls {
		block := len(m.Content) + i
		at(core.Event{Type: core.EventToolCallStart, CallID: c.ID, Name: c.Name}, block, 0)
		at(core.Event{Type: core.EventToolCallDelta, CallID: c.ID, Delta: string(c.Arguments)}, block, len(c.Arguments))
	}
	r.events.Annotations(m)
	for i, c := range m.ToolCalls {
		r.events.Ready(m, i, len(c.Arguments))
	}
	r.events.Complete(m, entry.Duration)
	r.events.Change(entry)
}

// replayFailure emits a step whose inference failed: what its model had said is void.
func (r *Replayer) replayFailure(entry *thread.Entry) {
	r.events.fence, r.events.step = entry.Attempt, entry.Step
	r.turn, r.open = nil, 0
	id := TurnID(r.run.ID, entry.Step)
	r.events.Emit(core.Event{Type: core.EventStepStart, Time: core.Millis(entry.At), MessageID: id})
	r.events.InferenceFailed(id, entry.Failed)
	r.events.Change(entry)
}

// Finish emits the end of the stream: of the run when it is done or waits, of
// the stream alone when it continues. run is read after the last record was added: an end
// that came until then is shown, and nothing of it is missing. The error is as for Add.
func (r *Replayer) Finish(run core.Run) error {
	r.endStep()
	switch run.Status {
	case core.RunDone: // of the last step that counts, which last words are not
		r.events.step = max(1, run.Steps)
		r.events.Finish(&run)
	case core.RunWaiting:
		r.events.Finish(&run)
	default:
		r.events.Emit(core.Event{Type: core.EventRunYield})
	}
	return r.events.err
}

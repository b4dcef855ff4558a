package run

import (
	"encoding/json"

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
	said   int64 // when the last of the step was said, see machine.lastSaid
	due    bool  // the step is whole, and its end was not emitted: its record may come next
}

// NewReplayer starts with the run's run_start event.
func NewReplayer(run core.Run, sink Sink) *Replayer {
	r := &Replayer{run: run, events: emitter{run: run.ID, sink: sink, step: 1}, said: run.CreatedAt}
	r.events.start(&run, run.ThreadID)
	return r
}

// Pass takes the run's next record in without its events: the reader has them.
func (r *Replayer) Pass(entry thread.Entry) {
	sink := r.events.sink
	r.events.sink = nil
	_ = r.Add(entry) // nothing is emitted
	r.events.sink, r.due = sink, false
}

// Add emits the events of the run's next record. The end of a step waits for the next
// one, or for [Replayer.Settle], since what the step changed comes before it. An error
// is the sink's: nobody listens any more.
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
		r.events.change(&entry)
		return r.events.err
	case m.Role == core.RoleAssistant:
		r.events.fence = entry.Attempt
		r.events.step = m.Step
		r.turn, r.open, r.said = m, len(m.ToolCalls), 0
		r.replayTurn(&entry)
	case m.Role == core.RoleTool:
		// The log has results in call order, so that the open calls say which it is.
		index := 0
		if r.turn != nil {
			index = len(r.turn.Content) + len(r.turn.ToolCalls) - r.open
		}
		r.events.result(&entry, index)
		r.open--
	default:
		return r.events.err
	}
	r.said = max(r.said, m.CreatedAt)
	r.due = r.open == 0 // a turn without calls ends its step as well: there is nothing to wait for
	return r.events.err
}

// date gives a record of a program that kept no clock the time of what it holds, so
// that every stream says the same.
func (r *Replayer) date(entry *thread.Entry) {
	if entry.At != 0 {
		return
	}
	if entry.At = r.said; entry.Message != nil {
		entry.At = entry.Message.CreatedAt
	}
}

// Settle emits the end of a step whose records were all added, as when they are all
// that a head covers: a step's records become visible together. The error is as for
// Add.
func (r *Replayer) Settle() error {
	r.endStep()
	return r.events.err
}

func (r *Replayer) endStep() {
	if r.due {
		r.due = false
		r.events.emit(core.Event{Type: core.EventStepEnd, Time: core.Millis(r.said)})
	}
}

// Changed reports whether patches were shown since the state was, of a step or run
// that has come to its end: it is to be shown before the next event.
func (r *Replayer) Changed() bool { return r.events.changed && r.open == 0 }

// State emits the state of the thread after the last record that was added, as [Shown]
// makes it, without a position. The error is as for Add.
func (r *Replayer) State(document json.RawMessage, revision uint64) error {
	r.events.state(document, revision)
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
		r.events.resultUnplaced(&entry)
		return r.events.err
	}
	r.events.result(&entry, len(r.turn.Content)+i)
	return r.events.err
}

// Suspended emits a ticket of the open round, without a position: it stands
// until it is decided, and whoever connects until then is shown it. The error is
// as for Add.
func (r *Replayer) Suspended(t core.Ticket) error {
	r.events.emitUnplaced(suspendedEvent(t))
	return r.events.err
}

// Resumed emits that the run goes on with a call whose ticket was decided, without a
// position. The error is as for Add.
func (r *Replayer) Resumed(t core.Ticket) error {
	r.events.resumed(&t)
	return r.events.err
}

// ResultID is the message id of the result of a call, by its index in the turn of
// a step.
func ResultID(run core.ID, step, index int) string { return resultID(run, step, index) }

// replayTurn emits a turn as a model that says each block at once would have. All
// calls begin before the first is ready, as in a live turn.
func (r *Replayer) replayTurn(entry *thread.Entry) {
	m := entry.Message
	at := func(e core.Event, block, end int) {
		e.MessageID, e.Time = m.ID, core.Millis(m.CreatedAt)
		r.events.emitAt(e, block, end)
	}
	r.events.emit(core.Event{Type: core.EventStepStart, Time: core.Millis(entry.At), MessageID: m.ID})
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
	for i, c := range m.ToolCalls {
		at(readyEvent(m, i), len(m.Content)+i, len(c.Arguments))
	}
	at(completeEvent(m, entry.Duration), len(m.Content)+len(m.ToolCalls), 0)
	r.events.change(entry)
}

// replayFailure emits a step whose inference failed: nothing of what it had said is
// left.
func (r *Replayer) replayFailure(entry *thread.Entry) {
	r.events.fence, r.events.step = entry.Attempt, entry.Step
	r.turn, r.open = nil, 0
	id := turnID(r.run.ID, entry.Step)
	r.events.emit(core.Event{Type: core.EventStepStart, Time: core.Millis(entry.At), MessageID: id})
	r.events.inferenceFailed(id, entry.Failed)
	r.events.change(entry)
}

// Finish emits the end of the stream: of the run when it is done or waits, of
// the stream alone when it goes on. run is read after the last record was added:
// an end that came meanwhile is shown, and nothing of it is missing. The error is
// as for Add.
func (r *Replayer) Finish(run core.Run) error {
	r.endStep()
	switch run.Status {
	case core.RunDone: // of the last step that counts, which last words are not
		r.events.step = max(1, run.Steps)
		r.events.finish(&run)
	case core.RunWaiting:
		r.events.finish(&run)
	default:
		r.events.emit(core.Event{Type: core.EventRunYield})
	}
	return r.events.err
}

package run

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// A position (core.Position) says where in the turn an event
// stands as the turn will be committed, and not how many events came before it: a
// process that replays the turn from its record gives the same event the same
// position, however the deltas were cut. emitAt makes positions, for a live stream
// and for a replay (Replayer); turnBuilder and round know blocks and bytes.
//
// The fence is that of the inference: it tells an attempt that was lost from the
// one that was committed, although both say things at the same places. Events that
// exist live only (tickets, retries, dropped calls) have no position.

// emitter hands the events of one claim to its sink, each with its position. It is
// the step's goroutine's alone, as the events' order is the order in which that
// does things: what tools show and come to, and what the watch sees, is emitted by the scheduler.
type emitter struct {
	sink  Sink
	run   core.ID
	fence uint64 // of the inference whose turn the events are about
	step  int
	begun bool            // run_start was emitted
	err   error           // what the sink said last: it alone remembers that nobody listens
	room  strings.Builder // of positions
}

// start emits the run's first event, once: the step may begin the run and end it.
func (e *emitter) start(event core.Event) {
	if !e.begun {
		e.begun = true
		e.emit(event)
	}
}

// emit emits an event about the run or step as a whole.
func (e *emitter) emit(event core.Event) {
	block := core.LastBlock
	if event.Type == core.EventRunStart || event.Type == core.EventStepStart {
		block = core.FirstBlock
	}
	e.emitAt(event, block, 0)
}

// emitAt emits an event that ends at a byte of a block of the step's turn.
func (e *emitter) emitAt(event core.Event, block, end int) {
	if e.sink == nil {
		return // most background runs have no reader: no position is made for nobody
	}
	position := ""
	if kind, ok := event.Type.PositionKind(); ok {
		position = e.place(core.Position{Run: e.run, Step: e.step, Attempt: e.fence, Block: block, End: end, Kind: kind})
	}
	e.send(event, position)
}

// place returns the text of a position. A step has dozens of them, which lie side by
// side in pieces of memory that are never written again.
func (e *emitter) place(p core.Position) string {
	var room [96]byte
	text, _ := p.AppendText(room[:0]) // which cannot fail
	if e.room.Cap()-e.room.Len() < len(text) {
		e.room.Reset()
		e.room.Grow(piece)
	}
	begin := e.room.Len()
	_, _ = e.room.Write(text)
	return e.room.String()[begin:]
}

// piece is how much memory positions take at once, in bytes: those of some ten
// events.
const piece = 1 << 9

// emitUnplaced emits an event that has no place in the stream: a reader that comes
// back is told again, from what stands then.
func (e *emitter) emitUnplaced(event core.Event) {
	if e.sink != nil {
		e.send(event, "")
	}
}

// inferenceFailed announces that the model has failed for good in a step of a run
// that goes on. It takes the place of inference_complete, at the step's first block.
func (e *emitter) inferenceFailed(turn string, f *thread.Failure) {
	e.emitAt(core.Event{Type: core.EventInferenceFailed, MessageID: turn, Failed: f.Calls, Reason: f.Kind}, 0, 0)
}

// result announces a stored result at its place, that of a call behind the turn's
// blocks.
func (e *emitter) result(m *core.Message, block int) {
	if e.sink != nil {
		e.emitAt(resultEvent(m), block, 0)
	}
}

// resultUnplaced announces a result that has overtaken one before it.
func (e *emitter) resultUnplaced(m *core.Message) {
	if e.sink != nil {
		e.emitUnplaced(resultEvent(m))
	}
}

// send calls the sink, and waits for it.
func (e *emitter) send(event core.Event, position string) {
	event.Step, event.Position = e.step, position
	e.err = e.sink(event)
}

// listened reports whether somebody takes the events, as far as is known.
func (e *emitter) listened() bool { return e.sink != nil && e.err == nil }

// resultEvent announces a stored result. Clients read a JSON value in any case: a
// text becomes a string, an error an object.
func resultEvent(m *core.Message) core.Event {
	r := m.ToolResult
	e := core.Event{Type: core.EventToolCallDone, MessageID: m.ID, CallID: r.CallID, Name: r.Name, Result: r.Data, IsError: r.IsError, Status: r.Status, Metadata: r.Metadata}
	if r.IsError || len(r.Data) == 0 {
		e.Result, _ = json.Marshal(map[string]string{"error": r.Text()})
		if !r.IsError {
			e.Result, _ = json.Marshal(r.Text())
		}
	}
	return e
}

// lastText is the text of the run's newest assistant turn; empty when the window
// has none of the run any more.
func lastText(messages []core.Message, run core.ID) string {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if messages[i].Role == core.RoleAssistant {
			return messages[i].Text()
		}
	}
	return ""
}

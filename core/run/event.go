package run

import (
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
// exist live only (tickets, decisions that the run goes on with, retries, dropped calls)
// have no position, nor has the state as a whole, which is what stands now.

// emitter hands the events of one claim to its sink, each with its position. It is
// the step's goroutine's alone, as the events' order is the order in which that
// does things: what tools show and come to, and what the watch sees, is emitted by the scheduler.
type emitter struct {
	sink    Sink
	run     core.ID
	fence   uint64 // of the inference whose turn the events are about
	step    int
	begun   bool            // run_start was emitted
	changed bool            // a state_delta was, and no state_snapshot behind it
	err     error           // what the sink said last: it alone remembers that nobody listens
	chunks  *chunks         // of the inference, for readers in other processes; nil: none are stored
	room    strings.Builder // of positions
}

// begin begins an attempt at the step's inference, under another fence.
func (e *emitter) begin(fence uint64) {
	e.fence = fence
	e.chunks.restart(fence)
}

// start emits the run's first event, once: the step may begin the run and end it. Its
// time is when the run was accepted, which a stream knows that waits for it to begin.
func (e *emitter) start(run *core.Run, thread string) {
	if !e.begun {
		e.begun = true
		e.emit(core.Event{Type: core.EventRunStart, Time: core.Millis(run.CreatedAt), ThreadID: thread, AgentID: run.AgentID, Origin: run.Origin})
	}
}

// finish emits the run's last events: the error that it ends with, if it does, and its
// end, or that it waits.
func (e *emitter) finish(run *core.Run) {
	if e.sink == nil {
		return
	}
	if t := run.Termination; t != nil && t.Type == core.TerminationError && run.Status == core.RunDone {
		e.emit(errorEvent(t, run.FinishedAt))
	}
	e.emit(finishEvent(run))
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
	if !e.told() {
		return // most background runs have no reader: no position is made for nobody
	}
	kind, _ := event.Type.PositionKind()
	e.emitPlaced(event, kind, block, end)
}

// emitPlaced is emitAt for an event whose type alone does not say where it stands; kind
// 0: it has no place.
func (e *emitter) emitPlaced(event core.Event, kind core.PositionKind, block, end int) {
	at := core.Position{Run: e.run, Step: e.step, Attempt: e.fence, Block: block, End: end, Kind: kind}
	if e.chunks != nil {
		e.chunks.add(event, at)
	}
	if e.sink == nil {
		return
	}
	position := ""
	if kind != 0 {
		position = e.place(at)
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
func (e *emitter) emitUnplaced(event core.Event) { e.emitPlaced(event, 0, 0, 0) }

// inferenceFailed announces that the model has failed for good in a step of a run
// that goes on. It takes the place of inference_complete, at the step's first block.
func (e *emitter) inferenceFailed(turn string, f *thread.Failure) {
	e.emitAt(core.Event{Type: core.EventInferenceFailed, Time: core.Millis(f.At), MessageID: turn, Failed: f.Calls, Reason: f.Kind}, 0, 0)
}

// result announces a stored result at its place, that of a call behind the turn's
// blocks.
func (e *emitter) result(entry *thread.Entry, block int) {
	if e.sink != nil {
		e.emitAt(resultEvent(entry), block, 0)
	}
}

// resultUnplaced announces a result that has overtaken one before it.
func (e *emitter) resultUnplaced(entry *thread.Entry) {
	if e.sink != nil {
		e.emitUnplaced(resultEvent(entry))
	}
}

// resumed announces that the run goes on with a call whose ticket was decided. It has
// no place: the result that follows says which decision it came after.
func (e *emitter) resumed(t *core.Ticket) {
	if e.sink != nil && t.Decision != nil {
		e.emitUnplaced(core.Event{
			Type: core.EventToolCallResumed, CallID: t.CallID, Name: t.Tool, DecisionID: t.Decision.ID, Action: t.Decision.Action,
		})
	}
}

// send calls the sink, and waits for it. Whoever cuts a stream from the events numbers
// them, and gives those a time that are not of a record: they happen now.
func (e *emitter) send(event core.Event, position string) {
	event.RunID, event.Step, event.Position = e.run, e.step, position
	e.err = e.sink(event)
}

// told reports whether an event is for anybody.
func (e *emitter) told() bool { return e.sink != nil || e.chunks != nil }

// listened reports whether somebody takes the events, as far as is known.
func (e *emitter) listened() bool { return e.sink != nil && e.err == nil }

// lastText is the text of the run's newest assistant turn; empty when the window
// has none of the run any more.
func lastText(messages []core.Message, run core.ID) string {
	if turn := lastTurnOf(messages, run); turn != nil {
		return turn.Text()
	}
	return ""
}

// lastTurnOf is that turn; nil when the window has none.
func lastTurnOf(messages []core.Message, run core.ID) *core.Message {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if messages[i].Role == core.RoleAssistant {
			return &messages[i]
		}
	}
	return nil
}

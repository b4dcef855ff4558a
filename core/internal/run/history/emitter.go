package history

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Sink takes the events of a run as they happen, in the step's goroutine, which
// waits for it: it returns immediately. An error means that no client listens any more.
// The run continues, and every later call returns an error, too: the sink is the one
// that remembers that. It does not panic.
type Sink func(core.Event) error

// Tap takes the events of an [Emitter], with their places, whether or not the emitter has
// a sink: it keeps the model's words for readers that are not the run's own client. It is
// called in the step's goroutine and returns immediately.
type Tap interface {
	// Add takes an event and its position; a position of kind 0 means that it has
	// none.
	Add(event core.Event, at position.Position)
	// Restart announces that the next events are of another attempt at the step's
	// inference, under the given fence: all events before are void.
	Restart(fence uint64)
}

// Emitter hands the events of one claim to its sink and its tap, each with its position.
// It belongs to the step's goroutine, and the order of events is the order in which that
// works: the results of tools, what they show and what the watch sees are emitted there.
//
// A position is the place of an event in the turn as it will be committed, and not
// the number of events before it: a process that replays the turn from its record
// gives the same event the same position, for any cuts of the deltas. The step's
// number and the fence of its inference are part of it: the fence tells an attempt
// that was lost from the one that was committed, although both have events at the
// same places. Events that exist live only (tickets, resumed calls, retries,
// dropped calls) have no position, nor has the state as a whole.
//
// An Emitter must not be copied once it has emitted.
type Emitter struct {
	sink    Sink // nil: no client streams the run
	tap     Tap  // nil: nothing is kept
	run     core.ID
	fence   uint64 // of the inference whose turn the events are about
	step    int
	started bool            // run_start was emitted
	changed bool            // a state_delta was emitted, and no state_snapshot after it
	err     error           // the sink's newest answer
	room    strings.Builder // of positions, see place
}

// NewEmitter returns the emitter of a claim on a run. fence is that of the inference
// that the events are about; a nil sink discards them.
func NewEmitter(run core.ID, fence uint64, sink Sink) Emitter {
	return Emitter{sink: sink, run: run, fence: fence}
}

// Step is the number of the step that the events are about; 0 before the first.
func (e *Emitter) Step() int { return e.step }

// Enter makes the events that follow those of a step.
func (e *Emitter) Enter(step int) { e.step = step }

// Fence is that of the inference that the events are about.
func (e *Emitter) Fence() uint64 { return e.fence }

// SetFence makes the next events those of an inference under a fence of which
// nothing was emitted yet. See [Emitter.Restart] for one that has started.
func (e *Emitter) SetFence(fence uint64) { e.fence = fence }

// SetTap makes the tap receive the events that follow. The emitter has none before.
func (e *Emitter) SetTap(t Tap) { e.tap = t }

// Restart starts another attempt at the step's inference, under the next fence: the
// events of the previous one are void.
func (e *Emitter) Restart(fence uint64) {
	e.fence = fence
	if e.tap != nil {
		e.tap.Restart(fence)
	}
}

// Retell calls f, whose events go to the tap alone: a reader of a restarted attempt has
// no part of the one before, while the sink has been given all of it. Without a tap f is
// not called.
func (e *Emitter) Retell(f func()) {
	if e.tap == nil {
		return
	}
	sink := e.sink
	e.sink = nil
	defer func() { e.sink = sink }()
	f()
}

// Detach means that the client gets nothing more from here: it reads the rest from the log.
func (e *Emitter) Detach() { e.sink = nil }

// Attached reports whether the emitter has a sink, also after the sink has failed.
func (e *Emitter) Attached() bool { return e.sink != nil }

// Told reports whether anything is done with events: by the sink, or by the tap.
func (e *Emitter) Told() bool { return e.sink != nil || e.tap != nil }

// Listened reports whether a client takes the events, as far as is known.
func (e *Emitter) Listened() bool { return e.sink != nil && e.err == nil }

// Started reports whether run_start was emitted.
func (e *Emitter) Started() bool { return e.started }

// Start emits the run's first event, once: the step may start the run and end it. Its
// time is when the run was accepted, which a stream that waits for its start knows.
func (e *Emitter) Start(run *core.Run, thread string) {
	if !e.started {
		e.started = true
		e.Emit(core.Event{Type: core.EventRunStart, Time: core.Millis(run.CreatedAt), ThreadID: thread, AgentID: run.AgentID, Origin: run.Origin})
	}
}

// Finish emits the run's last events: the error that it ends with, if it does, and its
// end, or that it waits.
func (e *Emitter) Finish(run *core.Run) {
	if e.sink == nil {
		return
	}
	if t := run.Termination; t != nil && t.Type == core.TerminationError && run.Status == core.RunDone {
		e.Emit(errorEvent(t, run.FinishedAt))
	}
	e.Emit(finishEvent(run))
}

// StepEnd emits that the step is over. at is the time of its last word, in unix
// milliseconds.
func (e *Emitter) StepEnd(at int64) {
	e.Emit(core.Event{Type: core.EventStepEnd, Time: core.Millis(at)})
}

// Blocks of events that belong to no block of the turn: before all, after all.
const (
	firstBlock = 0
	lastBlock  = 9999
)

// Emit emits an event about the run or step as a whole.
func (e *Emitter) Emit(event core.Event) {
	block := lastBlock
	if event.Type == core.EventRunStart || event.Type == core.EventStepStart {
		block = firstBlock
	}
	e.EmitAt(event, block, 0)
}

// EmitAt emits an event that ends at a byte of a block of the step's turn. Calls
// are blocks after those of the turn's content, and events about the turn as a
// whole are after the last call.
func (e *Emitter) EmitAt(event core.Event, block, end int) {
	if !e.Told() {
		return // most background runs have no reader: no position is made for none
	}
	kind, _ := position.KindOf(event.Type)
	e.emitPlaced(event, kind, block, end)
}

// EmitUnplaced emits an event that has no place in the stream: a client that reconnects
// receives it again, in its present form.
func (e *Emitter) EmitUnplaced(event core.Event) { e.emitPlaced(event, 0, 0, 0) }

// emitPlaced is EmitAt for an event whose type alone does not say its place; kind 0: it
// has no place.
func (e *Emitter) emitPlaced(event core.Event, kind position.Kind, block, end int) {
	at := position.Position{Run: e.run, Step: e.step, Attempt: e.fence, Block: block, End: end, Kind: kind}
	if e.tap != nil {
		e.tap.Add(event, at)
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
func (e *Emitter) place(p position.Position) string {
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

// piece is how much memory positions take in one go, in bytes: those of some nine events.
const piece = 448

// send calls the sink, and waits for it. Code that makes a stream of the events
// numbers them, and gives a time to those without a record: they happen now.
func (e *Emitter) send(event core.Event, position string) {
	event.RunID, event.Step, event.Position = e.run, e.step, position
	e.err = e.sink(event)
}

// Ready announces that the arguments of call i of a turn are complete. end is the number
// of bytes of them that were emitted as deltas.
func (e *Emitter) Ready(turn *core.Message, i, end int) {
	e.EmitAt(readyEvent(turn, i), len(turn.Content)+i, end)
}

// Annotations announces the citations of a turn's texts, at the end of each text.
func (e *Emitter) Annotations(turn *core.Message) {
	for i := range turn.Content {
		if b := &turn.Content[i]; len(b.Annotations) > 0 {
			e.EmitAt(annotationsEvent(turn, i), i, len(b.Text))
		}
	}
}

// Complete announces that the turn is complete. took is how long all its calls took
// together, in milliseconds.
func (e *Emitter) Complete(turn *core.Message, took int64) {
	e.EmitAt(completeEvent(turn, took), len(turn.Content)+len(turn.ToolCalls), 0)
}

// InferenceFailed announces that the model has failed permanently in a step of a
// run that continues nevertheless. It takes the place of inference_complete, at the
// first block of the step. turn is the id that the turn would have had.
func (e *Emitter) InferenceFailed(turn string, f *thread.Failure) {
	e.EmitAt(core.Event{Type: core.EventInferenceFailed, Time: core.Millis(f.At), MessageID: turn, Failed: f.Calls, Reason: f.Kind}, 0, 0)
}

// Result announces a stored result at its place: block is that of its call, see
// [Emitter.EmitAt].
func (e *Emitter) Result(entry *thread.Entry, block int) {
	if e.sink != nil {
		e.EmitAt(resultEvent(entry), block, 0)
	}
}

// ResultUnplaced announces a result that has overtaken the result of an earlier call.
func (e *Emitter) ResultUnplaced(entry *thread.Entry) {
	if e.sink != nil {
		e.EmitUnplaced(resultEvent(entry))
	}
}

// Suspended announces a ticket. It has no place: the ticket exists until it is
// decided, and every client that connects until then receives it.
func (e *Emitter) Suspended(t core.Ticket) { e.EmitUnplaced(suspendedEvent(t)) }

// Resumed announces that the run resumes a call whose ticket was decided; for an
// undecided one it emits nothing. It has no place: the result that follows names
// the decision that it came after.
func (e *Emitter) Resumed(t *core.Ticket) {
	if e.sink != nil && t.Decision != nil {
		e.EmitUnplaced(resumedEvent(t))
	}
}

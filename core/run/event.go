package run

import (
	"encoding/json"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// emitter hands the events of one claim to its sink, each with its position.
type emitter struct {
	mu    sync.Mutex
	sink  Sink
	run   core.ID
	fence uint64
	step  int
}

func (e *emitter) emit(event core.Event) {
	block := core.LastBlock
	if event.Type == core.EventRunStart || event.Type == core.EventStepStart {
		block = core.FirstBlock
	}
	e.emitAt(event, block, 0)
}

// emitAt emits an event that ends at a byte of a block of the step's turn.
func (e *emitter) emitAt(event core.Event, block, end int) {
	position := ""
	if kind, ok := event.Type.PositionKind(); ok {
		position = core.Position{Run: e.run, Step: e.step, Attempt: e.fence, Block: block, End: end, Kind: kind}.String()
	}
	e.send(event, position)
}

// emitUnplaced emits an event that has no place in the stream: a reader that comes
// back is told again, from what stands then.
func (e *emitter) emitUnplaced(event core.Event) { e.send(event, "") }

func (e *emitter) send(event core.Event, position string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sink == nil {
		return
	}
	event.Step, event.Position = e.step, position
	if env.Protect(func() error { return e.sink(event) }) != nil {
		e.sink = nil // nobody listens any more; the run goes on
	}
}

// listened reports whether somebody takes the events, as far as is known.
func (e *emitter) listened() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sink != nil
}

// resultEvent announces a stored result.
func resultEvent(m *core.Message) core.Event {
	r := m.ToolResult
	e := core.Event{Type: core.EventToolCallDone, MessageID: m.ID, CallID: r.CallID, Name: r.Name, Result: r.Data, IsError: r.IsError, Status: r.Status}
	if r.IsError || len(r.Data) == 0 {
		e.Result, _ = json.Marshal(map[string]string{"error": r.Text()})
		if !r.IsError {
			e.Result, _ = json.Marshal(r.Text())
		}
	}
	return e
}

// lastText is the text of the run's newest assistant turn.
func lastText(messages []core.Message, run core.ID) string {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if messages[i].Role == core.RoleAssistant {
			return messages[i].Text()
		}
	}
	return ""
}

package aisdk

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// encoder turns the events of one response into the payloads of its frames. It
// does no I/O; the zero value is ready. One Encoder serves one response: a
// replay starts with a new one.
type encoder struct {
	// Continues are the ids of the calls in the client's copy of the message, for a
	// response that continues that message. An event for a call that is neither here nor
	// in the response is omitted: clients end a stream with an event for an unknown call.
	Continues []string
	// MessageID is the id of that copy; empty: the message is new, and has the run's id.
	MessageID string
	// shown is omitted: the client has it in messages before this one.
	Shown shown

	chunks
	started    bool
	skip       int // the last step of the run that is omitted
	inStep     bool
	said       bool     // the open step has shown something
	text       string   // id of the open text block
	reasoning  string   // id of the open reasoning block
	blocks     int      // blocks opened so far
	calls      []call   // of the open step, in order of appearance
	outputs    []output // of calls that run
	asked      bool     // a call of a child run was shown to wait
	sources    sources  // of the message
	shown      []string // ids of the calls of this response
	stopReason core.StopReason
	ended      bool
}

// call is a tool call that has no result yet.
type call struct {
	id, name string
	ready    bool // its input is complete
}

// Ended reports whether the terminal frame was produced.
func (e *encoder) Ended() bool { return e.ended }

// Encode returns the frames that an event becomes, often none. They are valid until
// the next call. After the last frame, "[DONE]", it returns nothing: that of run_finish,
// of run_yield, or of a step_restarted that makes void what the client was shown.
func (e *encoder) Encode(event core.Event) [][]byte {
	e.reset()
	if e.ended {
		return nil
	}
	e.start(event.RunID)
	// Steps in messages before this one are omitted, except the events that end the
	// stream, which have their number, too.
	if 0 < event.Step && event.Step <= e.skip && event.Type != core.EventRunYield && event.Type != core.EventRunFinish {
		return e.out
	}
	if event.Child != nil && event.ActivityType == "" {
		e.childCall(event)
		return e.out
	}
	switch event.Type {
	case core.EventRunStart:
		e.runInfo(event)
	case core.EventStepStart:
		e.closeStep() // when its end was not told
		e.openStep()
	case core.EventStepEnd:
		e.closeStep()
	case core.EventStepRestarted:
		e.abandon()
	case core.EventTextDelta:
		e.textDelta(event.Delta)
	case core.EventReasoningDelta:
		e.reasoningDelta(event.Delta)
	case core.EventToolCallStart:
		e.openStep()
		e.closeBlocks() // later text is another block, after the call
		e.toolStart(event)
	case core.EventToolCallDelta:
		e.toolDelta(event)
	case core.EventToolCallReady:
		e.toolReady(event)
	case core.EventToolCallCancel:
		e.toolCancel(event)
	case core.EventToolCallSuspended:
		e.toolSuspended(event)
	case core.EventToolCallStreamDelta:
		e.toolOutput(event)
	case core.EventActivitySnapshot, core.EventActivityDelta:
		e.activity(event)
	case core.EventToolCallDone:
		e.toolDone(event)
	case core.EventTextAnnotations:
		e.cite(event)
	case core.EventInferenceComplete:
		e.stopReason = event.StopReason
		e.inference(event)
	case core.EventRunYield:
		e.fail(interrupted)
	case core.EventRunFinish:
		e.finish(event.Termination)
	default:
		e.telemetry(event)
	}
	return e.out
}

// Fail returns the frames that end a stream which cannot go on, as Encode does.
func (e *encoder) Fail(text string) [][]byte {
	e.reset()
	if e.ended {
		return nil
	}
	e.start(core.ID{})
	e.fail(text)
	return e.out
}

// start emits the message's first chunk, before the first event of any kind: it must
// contain the message's id, which is derived from the run.
func (e *encoder) start(run core.ID) {
	if e.started {
		return
	}
	e.started = true
	if e.Shown.Run == run {
		e.skip = e.Shown.Steps
	}
	c := chunk{Type: "start", MessageID: e.MessageID}
	if c.MessageID == "" && !run.IsZero() {
		c.MessageID = messageID(run, e.skip)
	}
	e.emit(c)
}

// openStep begins a step unless one is open: any event of a step may be the first that
// this response has of it.
func (e *encoder) openStep() {
	if !e.inStep {
		e.inStep, e.said = true, false
		e.emit(chunk{Type: "start-step"})
	}
}

// closeStep ends the step, its blocks first: no block continues in the next one.
func (e *encoder) closeStep() {
	e.closeBlocks()
	if e.inStep {
		e.inStep = false
		e.emit(chunk{Type: "finish-step"})
	}
}

func (e *encoder) closeBlocks() {
	if e.reasoning != "" {
		e.emit(chunk{Type: "reasoning-end", ID: e.reasoning})
		e.reasoning = ""
	}
	if e.text != "" {
		e.emit(chunk{Type: "text-end", ID: e.text})
		e.text = ""
	}
}

// textDelta opens a text block where none is. Text and reasoning take turns: one block
// is open at most, and none is opened again.
func (e *encoder) textDelta(delta string) {
	if delta == "" {
		return
	}
	e.openStep()
	if e.text == "" {
		e.closeBlocks()
		e.text = e.block("txt_")
		e.emit(chunk{Type: "text-start", ID: e.text})
	}
	e.emit(chunk{Type: "text-delta", ID: e.text, Delta: delta})
}

func (e *encoder) reasoningDelta(delta string) {
	if delta == "" {
		return
	}
	e.openStep()
	if e.reasoning == "" {
		e.closeBlocks()
		e.reasoning = e.block("reasoning_")
		e.emit(chunk{Type: "reasoning-start", ID: e.reasoning})
	}
	e.emit(chunk{Type: "reasoning-delta", ID: e.reasoning, Delta: delta})
}

// block names a new block. The number is the response's, so that no block continues one
// of an earlier step.
func (e *encoder) block(prefix string) string {
	e.said = true
	id := prefix + strconv.Itoa(e.blocks)
	e.blocks++
	return id
}

func (e *encoder) toolStart(event core.Event) {
	if e.open(event.CallID) != nil { // its start was sent already
		return
	}
	e.track(call{id: event.CallID, name: event.Name})
	e.emit(chunk{Type: "tool-input-start", ToolCallID: event.CallID, ToolName: event.Name})
}

func (e *encoder) toolDelta(event core.Event) {
	if c := e.open(event.CallID); c != nil && !c.ready && event.Delta != "" {
		e.emit(chunk{Type: "tool-input-delta", ToolCallID: c.id, InputTextDelta: event.Delta})
	}
}

// toolReady completes a call's input. If nothing was streamed, the call is new here;
// otherwise the whole input replaces the streamed part.
func (e *encoder) toolReady(event core.Event) {
	e.openStep()
	e.closeBlocks()
	c := e.open(event.CallID)
	if c == nil {
		c = e.track(call{id: event.CallID, name: event.Name})
	}
	c.ready = true
	e.emit(chunk{Type: "tool-input-available", ToolCallID: c.id, ToolName: c.name, Input: orElse(event.Arguments, "{}")})
}

// toolSuspended asks the client for approval. Any other input of a waiting call is, for
// the client, the call's output, which it sends for calls with an input.
func (e *encoder) toolSuspended(event core.Event) {
	t := event.Ticket
	if t == nil || t.Decision != nil || !e.has(event.CallID) {
		return
	}
	c := e.open(event.CallID)
	if c != nil && !c.ready {
		e.toolReady(core.Event{CallID: event.CallID, Name: event.Name, Arguments: t.Arguments})
	}
	switch {
	case t.AsksPermission():
		e.emit(chunk{Type: "tool-approval-request", ApprovalID: t.Suspension.ID, ToolCallID: event.CallID})
	case c == nil: // the client has given an output, and another is wanted
		e.emit(chunk{Type: "tool-input-available", ToolCallID: event.CallID, ToolName: event.Name, Input: orElse(t.Arguments, "{}")})
	}
}

// toolDone gives a call its result, once; a call that the client does not have is
// passed over, see Continues.
func (e *encoder) toolDone(event core.Event) {
	if !e.has(event.CallID) {
		return
	}
	if c := e.open(event.CallID); c != nil && !c.ready {
		e.toolReady(event) // the client takes no result before an input
	}
	e.forget(event.CallID)
	e.endOutput(event.CallID)
	e.result(event, event.CallID, false)
}

// result emits the result of a call that the client knows by an id, as a dynamic one or not.
func (e *encoder) result(event core.Event, id string, dynamic bool) {
	switch {
	case event.Status == string(core.ResultDenied):
		e.emit(chunk{Type: "tool-output-denied", ToolCallID: id})
	case event.IsError:
		e.emit(chunk{Type: "tool-output-error", ToolCallID: id, ErrorText: errorText(event.Result), Dynamic: dynamic})
	default:
		e.emit(chunk{Type: "tool-output-available", ToolCallID: id, Output: withMetadata(orElse(protocol.Output(event.Result, event.Blocks), "null"), event.Metadata), Dynamic: dynamic})
	}
	e.files(event.Blocks)
}

// has reports whether the client has a call.
func (e *encoder) has(id string) bool {
	return slices.Contains(e.shown, id) || slices.Contains(e.Continues, id)
}

// toolCancel voids a call whose arguments were cut off, so that no client waits
// for the rest of them.
func (e *encoder) toolCancel(event core.Event) {
	if c := e.open(event.CallID); c != nil {
		e.emit(chunk{Type: "tool-input-error", ToolCallID: c.id, ToolName: c.name, Input: []byte("{}"), ErrorText: "the call was cut off and is void"})
		e.forget(event.CallID)
	}
}

// abandon ends the response when the step that it shows starts again: a client cannot
// withdraw a part of a message, and so has to resume, which replays it from its first
// chunk. Open parts end first, for a client that does not resume.
func (e *encoder) abandon() {
	const text = "the step was restarted"
	if !e.said {
		return
	}
	e.closeBlocks()
	for _, c := range e.calls {
		if c.ready {
			e.emit(chunk{Type: "tool-output-error", ToolCallID: c.id, ErrorText: text})
		} else {
			e.emit(chunk{Type: "tool-input-error", ToolCallID: c.id, ToolName: c.name, Input: []byte("{}"), ErrorText: text})
		}
	}
	e.fail(interrupted)
}

// finish ends the stream with its run, in the client's terms: a cancelled run is an
// abort, an error has a separate chunk, and every other run finishes with a reason.
func (e *encoder) finish(t *core.Termination) {
	if t == nil {
		t = &core.Termination{Type: core.TerminationNatural}
	}
	switch t.Type {
	case core.TerminationError:
		e.fail(protocol.EndError(t))
	case core.TerminationCancelled, core.TerminationSuperseded:
		e.closeBlocks()
		e.emit(chunk{Type: "abort"})
		e.end()
	default:
		e.closeStep()
		e.emit(chunk{Type: "finish", FinishReason: finishReason(t.Type, e.stopReason)})
		e.end()
	}
}

// fail ends the stream with an error inside the step in which it occurred.
func (e *encoder) fail(text string) {
	e.closeBlocks()
	e.emit(chunk{Type: "error", ErrorText: text})
	e.closeStep()
	e.emit(chunk{Type: "finish", FinishReason: "error"})
	e.end()
}

// end records that no frame follows; see Encode.
func (e *encoder) end() {
	e.ended = true
	e.out = append(e.out, done)
}

// open returns a call that has no result yet, nil if there is no such call. There are at
// most 32, so that a list suffices.
func (e *encoder) open(id string) *call {
	for i := range e.calls {
		if e.calls[i].id == id {
			return &e.calls[i]
		}
	}
	return nil
}

// track notes a call that begins: as open, and as shown for as long as the response
// lasts. The pointer is valid until the next call is tracked.
func (e *encoder) track(c call) *call {
	e.said = true
	e.calls, e.shown = append(e.calls, c), append(e.shown, c.id)
	return &e.calls[len(e.calls)-1]
}

// forget takes a call off the open ones; it stays shown.
func (e *encoder) forget(id string) {
	for i := range e.calls {
		if e.calls[i].id == id {
			e.calls = append(e.calls[:i], e.calls[i+1:]...)
			return
		}
	}
}

// finishReason translates the end of a run. A run that a policy stopped after a
// turn with calls, or that waits for a decision, ends as the official server's
// do: with the reason of its last turn.
func finishReason(t core.TerminationType, last core.StopReason) string {
	switch {
	case t == core.TerminationSuspended:
		return "tool-calls"
	case t == core.TerminationBlocked, last == core.StopContentFilter:
		return "content-filter"
	case last == core.StopMaxTokens, last == core.StopContextOverflow:
		return "length"
	case t == core.TerminationStopped && last == core.StopToolUse:
		return "tool-calls"
	case last == core.StopOther:
		return "other"
	}
	return "stop"
}

// errorText reads the text of a failed call's result, {"error": text}.
func errorText(result json.RawMessage) string {
	var r struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(result, &r) == nil && r.Error != "" {
		return r.Error
	}
	if len(result) > 0 {
		return string(result)
	}
	return "the tool call ended with an error"
}

package agui

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// response is what an [encoder] must know of the request that it responds to.
type response struct {
	ThreadID    string
	RunID       string // the client's name of the run; empty: the run's own id
	ParentRunID string
	// Modern reports whether the client uses version 1.0 or newer. Older clients end a
	// stream at an unknown event.
	Modern bool
	// History has the messages that the client has when the response starts, and State is
	// its copy of the shared state; nil: it has none.
	History []json.RawMessage
	State   json.RawMessage
	// Reset reports whether the client may have seen the following events: the response
	// then starts with the history, which replaces the client's copy, and with its
	// extras.
	Reset  bool
	Extras extras
	// Given are the calls whose results the client has sent, and has.
	Given []string
}

// encoder turns the events of one response into the payloads of its frames. It does no
// I/O. One Encoder serves one response.
type encoder struct {
	to response
	events
	transcript transcript
	state      sharedState
	started    bool
	ended      bool

	run       string // id of the run, for the end
	step      string // name of the open step
	text      bool   // a text message is open, of the open turn
	reasoning string // id of the open reasoning message
	calls     []call // of this response, without a result, in order of appearance
	tickets   []core.Ticket
	children  []core.ChildTicket // of child runs, for persons
	outputs   []string           // messages that show what running calls put out
	wrapped   []string           // activities whose content is not an object
}

// call is a tool call that has no result yet.
type call struct {
	id, name string
	ended    bool // its arguments are complete
	streamed bool // some were sent
}

// newEncoder returns an encoder of a response.
func newEncoder(to response) *encoder {
	e := &encoder{to: to, transcript: transcript{before: to.History}}
	if to.State != nil {
		e.state.sentBy(to.State)
	}
	return e
}

// Ended reports whether the last event was produced.
func (e *encoder) Ended() bool { return e.ended }

// Encode returns the payloads that an event becomes, often none. They are valid until
// the next call. After the end of the run it returns nothing.
func (e *encoder) Encode(in core.Event) ([][]byte, error) {
	e.reset()
	if e.ended {
		return nil, nil
	}
	e.start(in.RunID)
	switch in.Type {
	case core.EventStepStart:
		e.openStep(in)
	case core.EventStepEnd:
		e.closeStep()
	case core.EventStepRestarted, core.EventInferenceFailed:
		e.void()
	case core.EventTextDelta:
		e.textDelta(in)
	case core.EventReasoningDelta:
		e.reasoningDelta(in)
	case core.EventReasoningEncrypted:
		e.encrypted(in)
	case core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallReady, core.EventToolCallCancel,
		core.EventToolCallSuspended, core.EventToolCallResumed, core.EventToolCallDone:
		e.toolCall(in)
	case core.EventToolCallStreamDelta:
		e.toolOutput(in)
	case core.EventActivitySnapshot, core.EventActivityDelta:
		e.activity(in)
	case core.EventTextAnnotations:
		e.showCitations(citations{in.MessageID, in.Block, in.Annotations})
	case core.EventInferenceComplete:
		e.closeMessages()
	case core.EventInferenceRetry:
		e.custom("reveille.inference_retry", retry{in.Failed, in.Wait, in.Reason})
	case core.EventModelSwitch:
		e.custom("reveille.model_switch", modelSwitch{in.From, in.Model, in.Reason, in.Failed})
	case core.EventModelCircuit:
		e.custom("reveille.model_circuit", modelCircuit{in.Model, in.Status, in.Wait})
	case core.EventPrefixChanged:
		e.custom("reveille.prefix_changed", changed{in.Reason})
	case core.EventContextCompacted:
		e.custom("reveille.context_compacted", compacted{in.UpTo, in.TokensBefore, in.TokensAfter})
	case core.EventContextSkipped:
		e.custom("reveille.context_skipped", skipped{in.UpTo, in.Reason})
	case core.EventStateSnapshot:
		e.stateSnapshot(in)
	case core.EventStateDelta:
		e.stateDelta(in)
	case core.EventRunYield:
		e.fail(interrupted, "stream_ended")
	case core.EventRunFinish:
		e.finish(in)
	}
	return e.out, e.err
}

// retry is the value of a custom event: the model failed and is called again.
type retry struct {
	Failed int    `json:"failed"`
	Wait   int64  `json:"wait"` // milliseconds
	Reason string `json:"reason"`
}

// modelSwitch is the value of a custom event: the run continues with another model.
type modelSwitch struct {
	From   string `json:"from"`
	Model  string `json:"model"`
	Reason string `json:"reason"`
	Failed int    `json:"failed,omitempty"`
}

// modelCircuit is the value of a custom event: the state of a model's circuit in the
// process that runs the step.
type modelCircuit struct {
	Model string `json:"model"`
	State string `json:"state"`
	Wait  int64  `json:"wait,omitempty"` // milliseconds
}

type changed struct {
	Reason string `json:"reason"`
}

// compacted is the value of a custom event: a summary replaces the messages up to a
// sequence of the log.
type compacted struct {
	UpTo   uint64 `json:"up_to"`
	Before int    `json:"tokens_before"` // of what it takes the place of
	After  int    `json:"tokens_after"`
}

// skipped is the value of a custom event: a summary could not be made.
type skipped struct {
	UpTo   uint64 `json:"up_to"`
	Reason string `json:"reason"`
}

// Fail returns the payloads that end a stream which cannot go on, as Encode does.
func (e *encoder) Fail(text, code string) [][]byte {
	e.reset()
	if e.ended {
		return nil
	}
	e.start(core.ID{})
	e.fail(text, code)
	return e.out
}

// start emits the first event of the stream, before the first event of any kind.
func (e *encoder) start(run core.ID) {
	if e.started {
		return
	}
	e.started = true
	if e.run = e.to.RunID; e.run == "" {
		e.run = run.String()
	}
	one := event{Type: "RUN_STARTED", ThreadID: e.to.ThreadID, RunID: e.run, ParentRunID: e.to.ParentRunID}
	if e.to.Modern {
		one.ProtocolVersion = protocolVersion
	}
	e.emit(one)
	if e.to.Reset {
		e.showMessages()
		e.showExtras(e.to.Extras)
	}
}

// protocolVersion is the version of the protocol that the encoder writes.
const protocolVersion = "1.0"

// showMessages tells the whole conversation.
func (e *encoder) showMessages() {
	e.emit(event{Type: "MESSAGES_SNAPSHOT", Messages: e.transcript.all()})
}

// openStep starts a step; the previous one has ended, whether or not its end was sent.
func (e *encoder) openStep(in core.Event) {
	e.closeStep()
	e.step = "step_" + strconv.Itoa(in.Step)
	e.emit(event{Type: "STEP_STARTED", StepName: e.step})
	if in.MessageID != "" {
		e.transcript.begin(in.MessageID)
	}
}

// closeStep ends the step and all that is open in it. One whose beginning this response
// did not tell has no end in it either.
func (e *encoder) closeStep() {
	e.closeMessages()
	e.closeCalls()
	if e.step != "" {
		e.emit(event{Type: "STEP_FINISHED", StepName: e.step})
		e.step = ""
	}
}

func (e *encoder) closeMessages() {
	e.closeReasoning()
	if e.text {
		e.text = false
		e.emit(event{Type: "TEXT_MESSAGE_END", MessageID: e.transcript.open.id})
	}
}

func (e *encoder) closeReasoning() {
	if e.reasoning != "" {
		e.emit(event{Type: "REASONING_MESSAGE_END", MessageID: e.reasoning})
		e.emit(event{Type: "REASONING_END", MessageID: e.reasoning})
		e.reasoning = ""
	}
}

// textDelta opens the turn's message if it is not open. Text and reasoning alternate;
// text after reasoning continues the same message.
func (e *encoder) textDelta(in core.Event) {
	if in.Delta == "" {
		return
	}
	e.startTurn(in)
	if !e.text {
		e.closeReasoning()
		e.text, e.transcript.open.spoken = true, true
		e.emit(event{Type: "TEXT_MESSAGE_START", MessageID: e.transcript.open.id, Role: "assistant"})
	}
	e.transcript.open.text.WriteString(in.Delta)
	e.emit(event{Type: "TEXT_MESSAGE_CONTENT", MessageID: e.transcript.open.id, Delta: in.Delta})
}

func (e *encoder) reasoningDelta(in core.Event) {
	if in.Delta == "" {
		return
	}
	e.startTurn(in)
	if e.reasoning == "" {
		e.closeMessages()
		e.reasoning = e.transcript.think()
		e.emit(event{Type: "REASONING_START", MessageID: e.reasoning})
		e.emit(event{Type: "REASONING_MESSAGE_START", MessageID: e.reasoning, Role: "reasoning"})
	}
	thoughts := e.transcript.open.reasoning
	last := &thoughts[len(thoughts)-1]
	last.text = append(last.text, in.Delta...)
	e.emit(event{Type: "REASONING_MESSAGE_CONTENT", MessageID: e.reasoning, Delta: in.Delta})
}

// encrypted passes on the reasoning that a provider requires back. A value that is not a
// string is sent as JSON.
func (e *encoder) encrypted(in core.Event) {
	thoughts := e.transcript.open.reasoning
	if len(thoughts) == 0 || len(in.EncryptedValue) == 0 {
		return // it belongs to reasoning that was not shown
	}
	id := thoughts[len(thoughts)-1].id
	e.emit(event{Type: "REASONING_ENCRYPTED_VALUE", Subtype: "message", EntityID: id, EncryptedValue: plain(in.EncryptedValue)})
	e.closeReasoning()
}

// startTurn opens the turn that an event is part of, where its step's begin was not told.
func (e *encoder) startTurn(in core.Event) {
	id := in.MessageID
	if id == "" || id == e.transcript.open.id {
		return
	}
	e.closeMessages()
	e.transcript.begin(id)
}

// void withdraws the events of a turn that starts again, or is never completed.
func (e *encoder) void() {
	e.closeMessages()
	e.closeCalls()
	e.calls = nil
	if e.transcript.void() {
		e.showMessages()
	}
}

// finish ends the stream with its run.
func (e *encoder) finish(in core.Event) {
	t := in.Termination
	if t == nil {
		t = &core.Termination{Type: core.TerminationNatural}
	}
	if t.Type == core.TerminationError {
		e.fail(protocol.EndError(t), t.Code)
		return
	}
	e.dropCalls()
	e.closeStep()
	one := event{Type: "RUN_FINISHED", ThreadID: e.to.ThreadID, RunID: e.run}
	switch t.Type {
	case core.TerminationSuspended:
		one.Outcome = e.waiting()
	case core.TerminationCancelled, core.TerminationSuperseded:
		if e.to.Modern {
			one.Outcome = &outcome{Type: "cancelled"}
		}
	case core.TerminationNatural:
	default: // success, and why there is no more of it
		one.Result = t
	}
	if one.Outcome != nil && one.Outcome.Type == "interrupt" { // the client has everything that it needs to answer
		e.state.client = nil
		e.showState()
		e.showMessages()
	} else {
		e.state.sent = false
		e.showState()
	}
	e.emit(one)
	e.ended = true
}

// fail ends the stream with an error.
func (e *encoder) fail(text, code string) {
	e.dropCalls()
	e.closeStep()
	e.emit(event{Type: "RUN_ERROR", Message: text, Code: code})
	e.ended = true
}

// interrupted is what a client reads whose stream ended before the run.
const interrupted = "the stream ended before its run, which continues; send the same runId again to follow it"

// open returns a call that has no result yet, nil if there is no such call. There are at
// most 32 in a turn, so that a list suffices.
func (e *encoder) open(id string) *call {
	i := slices.IndexFunc(e.calls, func(c call) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return &e.calls[i]
}

// forget takes a call off the open ones.
func (e *encoder) forget(id string) {
	e.calls = slices.DeleteFunc(e.calls, func(c call) bool { return c.id == id })
}

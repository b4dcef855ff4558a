package core

import "encoding/json"

// EventType is the kind of an event.
type EventType string

// The event types, in the order in which a run emits them. A placed event has a Position:
// it follows from committed records, and a client that reconnects receives it exactly once.
// The others are sent again after a reconnect, or exist only live.
const (
	// The run starts. Placed.
	EventRunStart EventType = "run_start"
	// The messages of the thread before the run, after run_start, if the listener asks for
	// them.
	EventMessagesSnapshot EventType = "messages_snapshot"
	// The state of thread and run: at the start of a stream, unless it is empty, and after a
	// step or a run that changed it. A state of more than 64 KiB is sent only at the start,
	// since the patches have the changes. A state of more than 1 MiB is never sent.
	EventStateSnapshot EventType = "state_snapshot"
	// A step starts. Placed.
	EventStepStart EventType = "step_start"
	// The step starts again. Discard its earlier events.
	EventStepRestarted EventType = "step_restarted"
	// A piece of the model's reasoning or text. Placed, at its last byte.
	EventReasoningDelta EventType = "reasoning_delta"
	EventTextDelta      EventType = "text_delta"
	// A block of reasoning ends that has an opaque value for its provider. Placed.
	EventReasoningEncrypted EventType = "reasoning_encrypted_value"
	// A tool call: its start, a piece of its arguments' JSON text, and its complete
	// arguments. The last one comes when the whole response is complete. Placed.
	EventToolCallStart EventType = "tool_call_start"
	EventToolCallDelta EventType = "tool_call_delta"
	EventToolCallReady EventType = "tool_call_ready"
	// The model failed and is called again. Earlier events stay valid, unless step_restarted
	// follows.
	EventInferenceRetry EventType = "inference_retry"
	// The run continues with another model of its pool. Earlier events stay valid, as with
	// inference_retry.
	EventModelSwitch EventType = "model_switch"
	// The circuit of a model opens, lets a call probe, or closes, in the process that runs
	// the step. While it is open, the model is not called, and the step waits.
	EventModelCircuit EventType = "model_circuit"
	// The start of the step's request differs from that of the previous request, so that the
	// provider's cache does not apply.
	EventPrefixChanged EventType = "prefix_changed"
	// From this step on, a summary replaces older messages in the model's requests.
	EventContextCompacted EventType = "context_compacted"
	// A summary failed. Requests that are too long omit the older messages.
	EventContextSkipped EventType = "context_skipped"
	// The model failed before the arguments were complete: the call is void.
	EventToolCallCancel EventType = "tool_call_cancel"
	// The response of the model is complete. Placed.
	EventInferenceComplete EventType = "inference_complete"
	// The inference failed permanently. The step ends without a response, and the run
	// continues. Placed.
	EventInferenceFailed EventType = "inference_failed"
	// A committed record changed the state by a patch: that of the response, after
	// inference_complete, that of a step, before step_end, or that of the run's end. Placed.
	EventStateDelta EventType = "state_delta"
	// A piece of the output of a running tool. Only live.
	EventToolCallStreamDelta EventType = "tool_call_stream_delta"
	// Progress that a running tool shows, and a change of it. Only live.
	EventActivitySnapshot EventType = "activity_snapshot"
	EventActivityDelta    EventType = "activity_delta"
	// A call waits, and its ticket can be decided. A client that reconnects until then
	// receives it again.
	EventToolCallSuspended EventType = "tool_call_suspended"
	// A suspended call was decided, and the run continues with it.
	EventToolCallResumed EventType = "tool_call_resumed"
	// The result of a call is stored. Placed, unless an earlier call of the response has no
	// result yet: then the event is sent again at its place.
	EventToolCallDone EventType = "tool_call_done"
	// The step is committed. Placed.
	EventStepEnd EventType = "step_end"
	// The run ends with an error, and run_finish follows. Placed. A stream that fails while
	// its run continues also ends with one, which has no step.
	EventError EventType = "error"
	// The last event of a stream whose run continues elsewhere. Connect again.
	EventRunYield EventType = "run_yield"
	// The last event of a run's stream: the run is done, or waits for a decision. Placed.
	EventRunFinish EventType = "run_finish"
)

// Event is one item of a run's stream. It has only the fields of its type.
type Event struct {
	Type EventType `json:"event_type"`

	// Sequence is the number of the event in the stream of a listener, from 1. Each stream
	// has its own numbers: the same event may have another number in the next stream.
	Sequence uint64 `json:"sequence,omitempty"`
	// Time is the time of the event. For a placed event it is the time of its record, the
	// same in every stream. The pieces of a response are an exception: live they have the
	// moment of their arrival, in a replay the time of the response.
	Time  Millis `json:"time,omitzero"`
	RunID ID     `json:"run_id,omitzero"`
	Step  int    `json:"step,omitempty"` // from 1

	// Position is the place of the event in the stream of its run, the id of an SSE
	// frame, in the form "run.step.attempt.block-end-kind". It is empty for an event that is
	// not placed, which a client that reconnects receives again.
	Position string `json:"-"`

	ThreadID string `json:"thread_id,omitempty"` // run_start
	AgentID  string `json:"agent_id,omitempty"`  // run_start
	Origin   Origin `json:"origin,omitempty"`    // run_start

	MessageID string `json:"message_id,omitempty"` // message of the event
	Delta     string `json:"delta,omitempty"`      // text_delta, reasoning_delta, tool_call_delta, tool_call_stream_delta

	// ActivityType is the kind of an activity, such as "tool_progress". An activity has its
	// own message id: one for each call and type.
	ActivityType string          `json:"activity_type,omitempty"` // activity_snapshot, activity_delta
	Content      json.RawMessage `json:"content,omitempty"`       // activity_snapshot: any JSON
	Replace      bool            `json:"replace,omitempty"`       // activity_snapshot: replaces the content with the same message id

	// EncryptedValue is any JSON that only the provider understands, and requires in later
	// requests (reasoning_encrypted_value).
	EncryptedValue json.RawMessage `json:"encrypted_value,omitempty"`

	CallID     string          `json:"id,omitempty"`          // tool_call_*, activity_*
	Name       string          `json:"name,omitempty"`        // tool_call_start, tool_call_ready, tool_call_stream_delta, tool_call_resumed, tool_call_done
	Arguments  json.RawMessage `json:"arguments,omitempty"`   // tool_call_ready
	Result     json.RawMessage `json:"result,omitempty"`      // tool_call_done: the data, or {"error": text}
	IsError    bool            `json:"is_error,omitempty"`    // tool_call_done
	Outcome    CallOutcome     `json:"outcome,omitempty"`     // tool_call_done
	Status     string          `json:"status,omitempty"`      // tool_call_done: a [ResultStatus]; run_finish: a [RunStatus]; model_circuit: "open", "half_open" or "closed"
	Ticket     *Ticket         `json:"ticket,omitempty"`      // tool_call_suspended
	DecisionID string          `json:"decision_id,omitempty"` // tool_call_resumed
	Action     DecisionAction  `json:"action,omitempty"`      // tool_call_resumed

	Metadata map[string]json.RawMessage `json:"metadata,omitempty"` // tool_call_done: see [ToolResult]

	Failed int   `json:"failed,omitempty"` // inference_retry, inference_failed, model_switch: number of failed model calls so far
	Wait   int64 `json:"wait,omitempty"`   // inference_retry, model_circuit: milliseconds until the next call
	// Reason is the kind of the failure (inference_retry, inference_failed, model_switch; see
	// model.ErrorKind), or circuit_open (model_switch). For prefix_changed it is the changed
	// part: model, tools, system, context, summary, cut or results. For context_skipped it is
	// the cause: savings, too_long, refused or model, as in the record; stale if another
	// summary was first; corrupt; or newer if only a newer program can read the record.
	Reason string `json:"reason,omitempty"`

	// UpTo is the sequence of the last message that the summary replaces. TokensBefore
	// estimates the replaced part of the request, with the previous summary, and TokensAfter
	// the new summary.
	UpTo         uint64 `json:"up_to,omitempty"`         // context_*
	TokensBefore int    `json:"tokens_before,omitempty"` // context_compacted
	TokensAfter  int    `json:"tokens_after,omitempty"`  // context_compacted

	// Model is the model of the response by its provider's name (inference_complete). For
	// model_switch and model_circuit it is the id in the specs. From is the id of the
	// previous model (model_switch).
	Model      string     `json:"model,omitempty"`
	From       string     `json:"from,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`       // inference_complete: of the response; run_finish: of the run
	StopReason StopReason `json:"stop_reason,omitempty"` // inference_complete
	// Duration is in milliseconds, and absent below one. For inference_complete it is the
	// time of the model calls that contributed to the response, without pauses. For
	// tool_call_done it is the time that the tool ran, and for run_finish the time from the
	// run's first step to its end.
	Duration int64 `json:"duration_ms,omitempty"`

	// Patch is a JSON Patch (RFC 6902). For state_delta it applies to the last
	// state_snapshot with the patches since, or to {"thread":{},"run":{}} before the first
	// snapshot; Revision is that of the result. For activity_delta it applies to the
	// activity's content.
	Patch    json.RawMessage `json:"patch,omitempty"`
	Revision uint64          `json:"revision,omitempty"` // state_delta, state_snapshot
	// Snapshot is the state as {"thread": {KEY: VALUE}, "run": {KEY: VALUE}}, without
	// internal keys of the runtime and keys of single calls (state_snapshot).
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Messages []Message       `json:"messages,omitempty"` // messages_snapshot, oldest first

	Steps       int          `json:"steps,omitempty"`       // run_finish
	Response    string       `json:"response,omitempty"`    // run_finish: text of the last response
	Termination *Termination `json:"termination,omitempty"` // run_finish

	Error string `json:"error,omitempty"` // error: text for people, without internal details
	Code  string `json:"code,omitempty"`  // error: code of the termination, or of the failure of the stream
}

// CallOutcome is the success or failure of a call.
type CallOutcome string

// The outcomes of calls that have a result. [ResultStatus] has the details.
const (
	CallSucceeded CallOutcome = "succeeded"
	CallFailed    CallOutcome = "failed"
)

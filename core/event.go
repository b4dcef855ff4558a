package core

import "encoding/json"

// EventType is the type of an event.
type EventType string

// The event types, in the order in which a run emits them. The comment of a placed event
// ends with "Placed.": the event has a Position, since it follows from committed records,
// and a client that reconnects receives it exactly once. A client may receive another event
// again, or miss it if the client connects later.
const (
	// The run starts. Placed.
	EventRunStart EventType = "run_start"
	// The messages of the thread before the run. The event follows run_start if the listener
	// asks for it.
	EventMessagesSnapshot EventType = "messages_snapshot"
	// The state of the thread and of the run. A stream has a state at its start, and after each
	// step or run that changed it. An empty state is not sent at the start. More than 64 KiB
	// are sent only at the start, and more than 1 MiB never. The patches have the same changes.
	EventStateSnapshot EventType = "state_snapshot"
	// A step starts. Placed.
	EventStepStart EventType = "step_start"
	// The step starts again. Discard the earlier events of this step.
	EventStepRestarted EventType = "step_restarted"
	// A piece of the model's reasoning. Its position is that of its last byte. Placed.
	EventReasoningDelta EventType = "reasoning_delta"
	// A piece of the model's text. Its position is that of its last byte. Placed.
	EventTextDelta EventType = "text_delta"
	// A block of reasoning ends, and the provider expects an opaque form of it in later
	// requests. Placed.
	EventReasoningEncrypted EventType = "reasoning_encrypted_value"
	// The citations of a block of the model's text. The event follows the text of the turn,
	// one for each block that has citations, before tool_call_ready. Placed.
	EventTextAnnotations EventType = "text_annotations"
	// A tool call starts. Placed.
	EventToolCallStart EventType = "tool_call_start"
	// A piece of the JSON text of a call's arguments. Placed.
	EventToolCallDelta EventType = "tool_call_delta"
	// The arguments of a call are complete, and so is the model's response. Placed.
	EventToolCallReady EventType = "tool_call_ready"
	// The model failed and is called again. Earlier events of the step remain valid unless
	// step_restarted follows.
	EventInferenceRetry EventType = "inference_retry"
	// The run changes to another model of its pool. Earlier events of the step remain valid
	// unless step_restarted follows.
	EventModelSwitch EventType = "model_switch"
	// The circuit of a model opens, lets one call probe, or closes. While it is open, the
	// process does not call the model. The step waits.
	EventModelCircuit EventType = "model_circuit"
	// The request of the step starts differently from the previous request. The provider
	// cannot use its prompt cache.
	EventPrefixChanged EventType = "prefix_changed"
	// From this step on, a summary replaces older messages in requests to the model. A request
	// for the messages of the run returns the summary instead of them.
	EventContextCompacted EventType = "context_compacted"
	// No summary was made. Requests that are too long omit the oldest messages.
	EventContextSkipped EventType = "context_skipped"
	// The model failed before the arguments were complete. Discard the call.
	EventToolCallCancel EventType = "tool_call_cancel"
	// The model's response is complete. Placed.
	EventInferenceComplete EventType = "inference_complete"
	// The model failed permanently. The step ends without a response, and the run continues.
	// Placed.
	EventInferenceFailed EventType = "inference_failed"
	// A committed record changed the state. The event follows inference_complete, or precedes
	// step_end or run_finish. Placed.
	EventStateDelta EventType = "state_delta"
	// A piece of the output of a running tool. It is sent live only.
	EventToolCallStreamDelta EventType = "tool_call_stream_delta"
	// The progress that a running tool shows, or that of a child run. It is sent live only.
	EventActivitySnapshot EventType = "activity_snapshot"
	// A change of the progress that a running tool shows. It is sent live only.
	EventActivityDelta EventType = "activity_delta"
	// The call waits for a decision. The event is repeated while the call waits. With a child it
	// is a call of that run.
	EventToolCallSuspended EventType = "tool_call_suspended"
	// A decision was made, and the run continues with it.
	EventToolCallResumed EventType = "tool_call_resumed"
	// The result of a call is stored. If an earlier call of the response has no result yet,
	// the event has no position. It is repeated later. Placed.
	EventToolCallDone EventType = "tool_call_done"
	// The step is committed. Placed.
	EventStepEnd EventType = "step_end"
	// The run ends with an error, and run_finish follows. A stream that breaks off also ends
	// with this event, but without a step. Placed.
	EventError EventType = "error"
	// The last event of a stream whose run continues in another process. Reconnect.
	EventRunYield EventType = "run_yield"
	// The last event of a run's stream: the run is done, or waits for a decision. Placed.
	EventRunFinish EventType = "run_finish"
)

// Event is one item of a run's stream. Fields that do not belong to its type are absent.
// The comment after a field names its events, if not all events can have it.
type Event struct {
	Type EventType `json:"event_type"`

	// Sequence is the number of the event in the listener's stream, from 1. The same event
	// may have another number in another stream.
	Sequence uint64 `json:"sequence,omitempty"`
	// Time is the time of the event in RFC 3339. A placed event has the time of its record
	// in every stream. The exception is a live delta, with the time of its sending.
	Time  Millis `json:"time,omitzero"`
	RunID ID     `json:"run_id,omitzero"` // the run
	Step  int    `json:"step,omitempty"`  // the number of the step, from 1

	// Position is the place of the event in the stream of its run, the id of an SSE frame, in
	// the form "run.step.attempt.block-end-kind". It is empty if the event is not placed.
	Position string `json:"-"`

	// Child is the run of the event, if the run of the stream has started it, directly or through
	// others. The event then has no step and no position. Decide its tickets with its run_id.
	Child *ChildRun `json:"child,omitempty"` // activity_*, tool_call_suspended, tool_call_resumed, tool_call_done

	ThreadID string `json:"thread_id,omitempty"` // run_start: the thread of the run
	AgentID  string `json:"agent_id,omitempty"`  // run_start: the agent of the run
	Origin   Origin `json:"origin,omitempty"`    // run_start: absent for a user, or "internal"

	MessageID string `json:"message_id,omitempty"` // step_start, reasoning_*, text_delta, text_annotations, tool_call_start, tool_call_delta, tool_call_ready, tool_call_stream_delta, tool_call_done, inference_complete, inference_failed, activity_*: the message that the event is part of. An activity has its own
	Delta     string `json:"delta,omitempty"`      // text_delta, reasoning_delta, tool_call_delta, tool_call_stream_delta: the text to append

	// Block is the index of the text among the content of the message, from 0. The offsets of
	// Annotations are bytes of that text alone.
	Block       int          `json:"block,omitempty"`       // text_annotations
	Annotations []Annotation `json:"annotations,omitempty"` // text_annotations: all citations of the block

	ActivityType string          `json:"activity_type,omitempty"` // activity_*: the kind of progress, such as tool_progress
	Content      json.RawMessage `json:"content,omitempty"`       // activity_snapshot: any JSON
	Replace      bool            `json:"replace,omitempty"`       // activity_snapshot: true if it replaces the activity with the same message id

	EncryptedValue json.RawMessage `json:"encrypted_value,omitempty"` // reasoning_encrypted_value: an opaque value of any JSON type, for the provider

	CallID     string          `json:"id,omitempty"`          // tool_call_*, activity_*: the call
	Name       string          `json:"name,omitempty"`        // tool_call_start, tool_call_ready, tool_call_cancel, tool_call_stream_delta, tool_call_suspended, tool_call_resumed, tool_call_done: the name of the tool
	Arguments  json.RawMessage `json:"arguments,omitempty"`   // tool_call_ready: the arguments of the call
	Result     json.RawMessage `json:"result,omitempty"`      // tool_call_done: the data, or {"error":TEXT}; absent for a result of Blocks alone
	Blocks     []Block         `json:"blocks,omitempty"`      // tool_call_done: texts and files of the result, after its data or message; see [ToolResult]
	IsError    bool            `json:"is_error,omitempty"`    // tool_call_done: true if the result is an error
	Outcome    CallOutcome     `json:"outcome,omitempty"`     // tool_call_done: "succeeded" or "failed"
	Status     string          `json:"status,omitempty"`      // tool_call_done, run_finish, model_circuit: the status of the result ([ResultStatus]), of the run ([RunStatus]) or of the circuit (open, half_open, closed)
	Ticket     *Ticket         `json:"ticket,omitempty"`      // tool_call_suspended: the decision that the call waits for
	DecisionID string          `json:"decision_id,omitempty"` // tool_call_resumed: the decision
	Action     DecisionAction  `json:"action,omitempty"`      // tool_call_resumed: "resume" or "cancel"
	DecidedBy  *Decider        `json:"decided_by,omitempty"`  // tool_call_resumed, tool_call_done: the decider; kind "time" is the clock, the only decider that tool_call_done names

	Metadata map[string]json.RawMessage `json:"metadata,omitempty"` // tool_call_done: further values that the tool returned

	Failed int   `json:"failed,omitempty"` // inference_retry, inference_failed, model_switch: the number of failed calls of the model so far
	Wait   int64 `json:"wait,omitempty"`   // inference_retry, model_circuit: the milliseconds until the next call
	// Reason is the kind of the failure (model.ErrorKind) or circuit_open. For prefix_changed it
	// is the part that changed: model, tools, system, context, summary, cut or results. For
	// context_skipped it is savings, too_long, refused, model, stale, corrupt or newer. Stale
	// means that a newer summary exists, and newer that only a newer program can read it.
	Reason string `json:"reason,omitempty"` // inference_retry, inference_failed, model_switch, prefix_changed, context_skipped

	Limit int `json:"limit,omitempty"` // inference_retry: the tokens that a request to the model may have, if it refused a longer one

	UpTo         uint64 `json:"up_to,omitempty"`         // context_compacted, context_skipped: the sequence of the last message that the summary covers
	TokensBefore int    `json:"tokens_before,omitempty"` // context_compacted: an estimate of the tokens that the summary replaces, including an earlier summary
	TokensAfter  int    `json:"tokens_after,omitempty"`  // context_compacted: an estimate of the tokens of the summary

	// Model is the provider's name of the model for inference_complete. For other events it is
	// the id of the model in specs.
	Model      string     `json:"model,omitempty"`       // inference_complete, model_switch, model_circuit
	From       string     `json:"from,omitempty"`        // model_switch: the id of the previous model
	Usage      *Usage     `json:"usage,omitempty"`       // inference_complete, run_finish: the tokens of the response, or of the run
	StopReason StopReason `json:"stop_reason,omitempty"` // inference_complete: the reason why the model stopped
	// Duration is a time in milliseconds, absent if it is less than one. For inference_complete it is
	// the time of the model calls that the response is from, without pauses. For
	// tool_call_done it is the time that the tool ran. For run_finish it is the time from the
	// start of the first step to the end of the run.
	Duration int64 `json:"duration_ms,omitempty"` // inference_complete, tool_call_done, run_finish

	// Patch is a JSON Patch (RFC 6902). The patches of state_delta apply in their order to the
	// last state_snapshot. Without a snapshot they apply to {"thread":{},"run":{}}. The patch
	// of activity_delta applies to the content of its activity.
	Patch    json.RawMessage `json:"patch,omitempty"`    // state_delta, activity_delta
	Revision uint64          `json:"revision,omitempty"` // state_delta, state_snapshot: the revision of the state, after the patch
	// Snapshot is the state as {"thread":{KEY:VALUE},"run":{KEY:VALUE}}. It omits the keys
	// of the runtime and of single calls.
	Snapshot json.RawMessage `json:"snapshot,omitempty"` // state_snapshot
	Messages []Message       `json:"messages,omitempty"` // messages_snapshot: the messages, oldest first

	Steps       int          `json:"steps,omitempty"`       // run_finish: the number of steps
	Response    string       `json:"response,omitempty"`    // run_finish: the text of the last response
	Termination *Termination `json:"termination,omitempty"` // run_finish: how the run ended

	Error string `json:"error,omitempty"` // error: a text for users, without internal details
	Code  string `json:"code,omitempty"`  // error: the code of the termination, or of the failure that ended the stream
}

// CallOutcome reports whether a call succeeded.
type CallOutcome string

// The outcomes of calls that have a result. [ResultStatus] has more details.
const (
	CallSucceeded CallOutcome = "succeeded"
	CallFailed    CallOutcome = "failed"
)

package core

import "encoding/json"

// EventType names what an event says.
type EventType string

// The event types, in the order in which a run emits them. A placed event has a
// Position: it follows from what is committed, and a reader that comes back is
// shown it exactly once. The others are told again, or exist live only.
const (
	// The run begins. Placed.
	EventRunStart EventType = "run_start"
	// The thread's messages before the run, for a listener that asks for them; behind
	// run_start.
	EventMessagesSnapshot EventType = "messages_snapshot"
	// The state of thread and run, as a stream finds it where there is one, and again
	// where a step ends, or the run, that has changed it. One of more than 64 KiB is
	// not shown again, since the patches say the same, and one of more than 1 MiB not
	// at all.
	EventStateSnapshot EventType = "state_snapshot"
	// A step begins. Placed.
	EventStepStart EventType = "step_start"
	// What the reader was shown of this step is void; it starts again.
	EventStepRestarted EventType = "step_restarted"
	// A piece of what the model says. Placed, each at its last byte.
	EventReasoningDelta EventType = "reasoning_delta"
	EventTextDelta      EventType = "text_delta"
	// A block of reasoning has ended that a provider takes back in an opaque form of
	// its own. Placed.
	EventReasoningEncrypted EventType = "reasoning_encrypted_value"
	// A call begins, a piece of its arguments' JSON text comes, its arguments are
	// complete, which is when the whole turn is. Placed.
	EventToolCallStart EventType = "tool_call_start"
	EventToolCallDelta EventType = "tool_call_delta"
	EventToolCallReady EventType = "tool_call_ready"
	// The model failed and is called again; unless step_restarted follows, what was
	// shown stands.
	EventInferenceRetry EventType = "inference_retry"
	// The run leaves a member of its pool and goes on with another one; what was shown
	// stands as it does behind inference_retry.
	EventModelSwitch EventType = "model_switch"
	// The circuit of a model, of the process that runs the step, opens, lets a call probe
	// or closes. While it is open the model is not called, and the step waits.
	EventModelCircuit EventType = "model_circuit"
	// The request of the step does not begin like the one before it, so that nothing which
	// the provider has kept of that is of use.
	EventPrefixChanged EventType = "prefix_changed"
	// A summary stands for what was said before, from this step on: who asks the run is
	// shown it instead.
	EventContextCompacted EventType = "context_compacted"
	// A summary that was asked for came to nothing: what is older is left out when the
	// request would be too long.
	EventContextSkipped EventType = "context_skipped"
	// The model failed before the arguments were complete: the call is void.
	EventToolCallCancel EventType = "tool_call_cancel"
	// The model has said its turn. Placed.
	EventInferenceComplete EventType = "inference_complete"
	// The model has failed for good; the step ends without a turn, and the run goes
	// on. Placed.
	EventInferenceFailed EventType = "inference_failed"
	// A committed record has changed the state by a patch: that of the turn, behind
	// inference_complete, that of a step, before step_end, or that of the run's end.
	// Placed.
	EventStateDelta EventType = "state_delta"
	// A piece of the output of a tool that runs; live only.
	EventToolCallStreamDelta EventType = "tool_call_stream_delta"
	// What a tool shows of its work, and a change of that; live only.
	EventActivitySnapshot EventType = "activity_snapshot"
	EventActivityDelta    EventType = "activity_delta"
	// The call's ticket can be decided. It is told again as long as it can.
	EventToolCallSuspended EventType = "tool_call_suspended"
	// A decision was taken on a suspended call, and the run goes on with it.
	EventToolCallResumed EventType = "tool_call_resumed"
	// The result of a call is stored. Placed, unless an earlier call of the turn has
	// none yet: then it is told again at its place.
	EventToolCallDone EventType = "tool_call_done"
	// The step is committed. Placed.
	EventStepEnd EventType = "step_end"
	// The run ends with an error; run_finish follows. Placed. A stream that breaks off
	// by itself ends with one, too, which has no step.
	EventError EventType = "error"
	// Last event of a stream whose run goes on elsewhere: reconnect.
	EventRunYield EventType = "run_yield"
	// Last event of a run's stream: the run is done, or waits for a decision. Placed.
	EventRunFinish EventType = "run_finish"
)

// Event is one item of a run's stream. Fields that do not belong to the type
// are absent.
type Event struct {
	Type EventType `json:"event_type"`

	// Sequence is the number of the event in the stream that a listener is given, from
	// 1. Each stream counts for itself: the same event may have another number in the
	// next one.
	Sequence uint64 `json:"sequence,omitempty"`
	// Time is when what the event says happened. Of a placed event it is the time of the
	// record that holds it, the same in every stream, but for what a model says piece by
	// piece: live that is the moment, and in a replay the time of the turn.
	Time  Millis `json:"time,omitzero"`
	RunID ID     `json:"run_id,omitzero"`
	Step  int    `json:"step,omitempty"` // from 1

	// Position is the place of the event in the stream of its run, the id of an SSE
	// frame, in the form "run.step.attempt.block-end-kind"; empty for an event that has no
	// place of its own in the stream: a reader that comes back is told again.
	Position string `json:"-"`

	ThreadID string `json:"thread_id,omitempty"` // run_start
	AgentID  string `json:"agent_id,omitempty"`  // run_start
	Origin   Origin `json:"origin,omitempty"`    // run_start

	MessageID string `json:"message_id,omitempty"` // of the message that the event is part of
	Delta     string `json:"delta,omitempty"`      // text_delta, reasoning_delta, tool_call_delta, tool_call_stream_delta

	// Of an activity, whose message id is its own: the same for a call and a type.
	ActivityType string          `json:"activity_type,omitempty"` // activity_*: what kind of thing is shown; "tool_progress" for one
	Content      json.RawMessage `json:"content,omitempty"`       // activity_snapshot: any JSON
	Replace      bool            `json:"replace,omitempty"`       // activity_snapshot: it replaces what was shown under the message id

	// EncryptedValue is what the provider wants back, of any JSON type: it means
	// nothing to anybody else. Of reasoning_encrypted_value.
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

	Failed int   `json:"failed,omitempty"` // inference_retry, inference_failed, model_switch: calls of the model that failed so far
	Wait   int64 `json:"wait,omitempty"`   // inference_retry, model_circuit: milliseconds until the next one
	// Reason is, of inference_retry, inference_failed and model_switch, the kind of the
	// failure, see model.ErrorKind, or of model_switch circuit_open; of prefix_changed, what
	// has changed: model, tools, system, context, summary, cut or results; of
	// context_skipped, why there is no summary: savings, too_long, refused or model, as
	// its record says, stale where another one came first, corrupt, or newer where only a
	// newer program can read it.
	Reason string `json:"reason,omitempty"`

	// UpTo is the sequence of the last message that the summary is of. TokensBefore is
	// what the model would have been shown instead of it, the summary before it included,
	// and TokensAfter what it costs itself; both are estimates.
	UpTo         uint64 `json:"up_to,omitempty"`         // context_*
	TokensBefore int    `json:"tokens_before,omitempty"` // context_compacted
	TokensAfter  int    `json:"tokens_after,omitempty"`  // context_compacted

	// Model is the provider's name of the model that said the turn, of inference_complete;
	// the id that specs call it by, of model_switch, whose From is that of the model that
	// was left, and of model_circuit.
	Model      string     `json:"model,omitempty"`
	From       string     `json:"from,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`       // inference_complete: of the turn; run_finish: of the run
	StopReason StopReason `json:"stop_reason,omitempty"` // inference_complete
	// Duration is in milliseconds, absent below one. Of inference_complete: how long
	// the calls of the model took whose words the turn has, without pauses. Of
	// tool_call_done: how long the tool ran. Of run_finish: from the run's first step
	// to its end.
	Duration int64 `json:"duration_ms,omitempty"`

	// Patch is a JSON Patch (RFC 6902): of state_delta on the last state_snapshot's
	// value with the patches since (before the first one {"thread":{},"run":{}}), and Revision is that of the state after it; of activity_delta on the
	// activity's content.
	Patch    json.RawMessage `json:"patch,omitempty"`
	Revision uint64          `json:"revision,omitempty"` // state_delta, state_snapshot
	// Snapshot is the state as {"thread": {KEY: VALUE}, "run": {KEY: VALUE}}, without
	// the runtime's own keys and those of single calls. Of state_snapshot.
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Messages []Message       `json:"messages,omitempty"` // messages_snapshot, oldest first

	Steps       int          `json:"steps,omitempty"`       // run_finish
	Response    string       `json:"response,omitempty"`    // run_finish: text of the last turn
	Termination *Termination `json:"termination,omitempty"` // run_finish

	Error string `json:"error,omitempty"` // error: for people; it quotes nothing internal
	Code  string `json:"code,omitempty"`  // error: the code of the termination, or of what broke the stream off
}

// CallOutcome says whether a call came to what the model wanted of it.
type CallOutcome string

// The outcomes of calls that have a result. [ResultStatus] says more.
const (
	CallSucceeded CallOutcome = "succeeded"
	CallFailed    CallOutcome = "failed"
)

package core

import "encoding/json"

// EventType names what an event says.
type EventType string

// The event types, in the order in which a run emits them.
const (
	EventRunStart          EventType = "run_start"
	EventStepStart         EventType = "step_start"
	EventStepRestarted     EventType = "step_restarted" // what the client saw of this step is void; it starts again
	EventReasoningDelta    EventType = "reasoning_delta"
	EventTextDelta         EventType = "text_delta"
	EventToolCallStart     EventType = "tool_call_start"  // id and name are known
	EventToolCallDelta     EventType = "tool_call_delta"  // a piece of the arguments' JSON text
	EventToolCallReady     EventType = "tool_call_ready"  // the arguments are complete
	EventInferenceRetry    EventType = "inference_retry"  // the model failed and is called again; unless step_restarted follows, what was shown stands
	EventToolCallCancel    EventType = "tool_call_cancel" // the model failed before the arguments were complete: the call is void
	EventInferenceComplete EventType = "inference_complete"
	EventInferenceFailed   EventType = "inference_failed"    // the model failed for good; the step ends without a turn, and the run goes on
	EventToolCallSuspended EventType = "tool_call_suspended" // its ticket can be decided
	EventToolCallResumed   EventType = "tool_call_resumed"   // a decision was taken on a suspended call, which goes on
	EventToolCallDone      EventType = "tool_call_done"      // the result is stored
	EventStateDelta        EventType = "state_delta"         // the committed state has changed by a patch
	EventStateSnapshot     EventType = "state_snapshot"      // the committed state, whole
	EventStepEnd           EventType = "step_end"            // the step is committed
	EventError             EventType = "error"               // the run ends with an error; run_finish follows
	EventRunYield          EventType = "run_yield"           // last event of a stream whose run goes on elsewhere: reconnect
	EventRunFinish         EventType = "run_finish"          // last event of a run's stream
)

// The event types that a run emits whenever there is something to say.
const (
	EventReasoningEncrypted  EventType = "reasoning_encrypted_value" // a provider's opaque form of the reasoning block before
	EventToolCallStreamDelta EventType = "tool_call_stream_delta"    // a piece of the output of a tool that runs; live only
	EventActivitySnapshot    EventType = "activity_snapshot"         // what a tool shows of its work; live only
	EventActivityDelta       EventType = "activity_delta"            // a change of that; live only
	EventMessagesSnapshot    EventType = "messages_snapshot"         // the thread's messages, as a client that joins is to have them
)

// Event is one item of a run's stream. Fields that do not belong to the type
// are absent.
type Event struct {
	Type EventType `json:"event_type"`

	// Position is the wire form of a [Position]; empty for an event that has no
	// place of its own in the stream: whoever comes back is told again.
	Position string `json:"-"`

	ThreadID string `json:"thread_id,omitempty"` // run_start
	RunID    ID     `json:"run_id,omitzero"`     // run_start, run_finish
	AgentID  string `json:"agent_id,omitempty"`  // run_start
	Step     int    `json:"step,omitempty"`      // from 1

	MessageID string `json:"message_id,omitempty"` // of the message that the event is part of
	Delta     string `json:"delta,omitempty"`      // text_delta, reasoning_delta, tool_call_delta, tool_call_stream_delta

	// Of an activity, whose message id is its own: the same for a call and a type.
	ActivityType string          `json:"activity_type,omitempty"` // activity_*: what kind of thing is shown; "tool_progress" for one
	Content      json.RawMessage `json:"content,omitempty"`       // activity_snapshot: any JSON
	Replace      bool            `json:"replace,omitempty"`       // activity_snapshot: it replaces what was shown under the message id
	Patch        json.RawMessage `json:"patch,omitempty"`         // activity_delta: a JSON Patch of the content

	CallID    string          `json:"id,omitempty"`        // tool_call_*, activity_*
	Name      string          `json:"name,omitempty"`      // tool_call_start, tool_call_ready, tool_call_stream_delta, tool_call_done
	Arguments json.RawMessage `json:"arguments,omitempty"` // tool_call_ready
	Result    json.RawMessage `json:"result,omitempty"`    // tool_call_done: the data, or {"error": text}
	IsError   bool            `json:"is_error,omitempty"`  // tool_call_done
	Status    ResultStatus    `json:"status,omitempty"`    // tool_call_done
	Ticket    *Ticket         `json:"ticket,omitempty"`    // tool_call_suspended

	Metadata map[string]json.RawMessage `json:"metadata,omitempty"` // tool_call_done: see [ToolResult]

	Failed int    `json:"failed,omitempty"` // inference_retry, inference_failed: calls of the model that failed so far
	Wait   int64  `json:"wait,omitempty"`   // inference_retry: milliseconds until the next one
	Reason string `json:"reason,omitempty"` // inference_retry, inference_failed: kind of the failure, see model.ErrorKind

	Model       string       `json:"model,omitempty"`       // inference_complete
	Usage       *Usage       `json:"usage,omitempty"`       // inference_complete
	StopReason  StopReason   `json:"stop_reason,omitempty"` // inference_complete
	Response    string       `json:"response,omitempty"`    // run_finish: text of the last turn
	Termination *Termination `json:"termination,omitempty"` // run_finish
}

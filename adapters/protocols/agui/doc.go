// Package agui speaks AG-UI over HTTP and server-sent events, so that HttpAgent of
// @ag-ui/client, and CopilotKit with it, work against Reveille unchanged. It supports
// version 1.0 and older ones down to 0.0.59. README.md describes the protocol for authors
// of frontends.
//
// [New] returns the handler with the routes, which turns the events of a run into those of
// the protocol:
//
//	POST /v1/ag-ui/run                           start a run, or continue one; stream it
//	POST /v1/ag-ui/threads/{thread}/runs         the same, thread from the path
//	POST /v1/ag-ui/agents/{agent}/runs           the same, agent from the path
//	POST /v1/ag-ui/connect                       the conversation, and the open run, if any
//	POST /v1/ag-ui/threads/{thread}/connect      the same, thread from the path
//	GET  /v1/ag-ui/threads/{thread}/stream       the same, without a body; ?protocolVersion=1.0 for that version
//	GET  /v1/ag-ui/threads/{thread}/messages     the thread as messages of the protocol
//	POST /v1/ag-ui/threads/{thread}/cancel       cancel the open run
//	POST /v1/ag-ui/threads/{thread}/interrupt    end it and all queued runs
//
// The body is a RunAgentInput. The client sends its whole history, but the thread's own
// history counts. The user messages after the agent's last message are new. A known
// message that is sent with a new runId is repeated, and the messages after it are
// superseded.
//
// # Runs
//
// The client chooses the runId. It is a second name of the run that the input opens, and
// makes the request idempotent: the same runId again follows the same run from its start,
// after a MESSAGES_SNAPSHOT that replaces the client's copy. A client that has lost its
// connection can therefore send its request again, to any server. As the protocol
// requires, a run that continues after an interrupt or a frontend's tool has another runId
// each time. It is one run of the thread.
//
// # Tools of the frontend
//
// The model can call the tools of the input, in addition to the agent's tools, as long as
// the run lasts. A name that the agent has is refused with 409, unless the agent's tool is
// one that the client runs: then the agent's declaration counts. A call ends the response
// with success and without a result, in pendingToolCallIds for clients that know it. Its
// result is a tool message of the next input, whose content is text: one with files is
// refused. A tool message with an error fails the call.
//
// # Interrupts
//
// A question to a person ends the response with the outcome interrupt, after
// STATE_SNAPSHOT and MESSAGES_SNAPSHOT. The reason is tool_call if the call needs a
// permission, with the payload {"approved": true or false} and optional reason, remember
// and rememberAs. It is input_required if the call needs another input. The next input
// must resume all open interrupts. If one is missing, unknown, late or has the wrong form,
// the response is a RUN_ERROR and nothing has changed. The status cancelled denies. The
// same resume again changes nothing and returns the same response.
//
// # State
//
// The protocol's state is the thread's [plugin.SharedState]. When a run starts, each member
// that the client sends replaces the thread's member of that name, and a STATE_SNAPSHOT
// shows the result. Members that the client omits stay, since another client may have set
// them: {} changes nothing. Later changes are sent as STATE_DELTA, or as STATE_SNAPSHOT if
// the client does not have the value that the change applies to. The state of an input that
// joins an open run is ignored. CUSTOM events, reveille.state_snapshot and
// reveille.state_delta, show all other state of the agent.
//
// Context and system messages are part of the model's request and of no message of the
// thread. parentRunId is returned unchanged and has no other effect. forwardedProps are the
// run's request, under ag_ui, for its hooks and tools.
//
// # Where the protocol has no event
//
// If a step restarts, a MESSAGES_SNAPSHOT replaces its earlier events. A stream that ends
// before its run, because its host stops, ends with RUN_ERROR and the code stream_ended.
// Clients before 1.0 receive a cancelled run as a successful one, since they refuse any
// other outcome.
//
// # Where to look
//
//   - Inputs: request.go; their files: content.go; their effects: handler.go, decide.go.
//   - Events: encoder.go, calls.go, state.go, live.go; their bytes: event.go.
//   - The conversation as the client has it, for snapshots and the history: transcript.go.
package agui

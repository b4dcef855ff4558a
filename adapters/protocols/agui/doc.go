// Package agui speaks AG-UI over HTTP and server-sent events, so that HttpAgent of
// @ag-ui/client, and CopilotKit over it, work against Reveille unchanged: version 1.0,
// and what is older as far back as 0.0.59.
//
// [New] returns the handler with the routes, which turns the events of a run into those of
// the protocol:
//
//	POST /v1/ag-ui/run                           start a run, or go on with one; stream it
//	POST /v1/ag-ui/threads/{thread}/runs         the same, thread from the path
//	POST /v1/ag-ui/agents/{agent}/runs           the same, agent from the path
//	POST /v1/ag-ui/connect                       the conversation, and the run that is open, if one is
//	POST /v1/ag-ui/threads/{thread}/connect      the same, thread from the path
//	GET  /v1/ag-ui/threads/{thread}/stream       the same, without a body; ?protocolVersion=1.0 for that version
//	GET  /v1/ag-ui/threads/{thread}/messages     the thread as messages of the protocol
//	POST /v1/ag-ui/threads/{thread}/cancel       cancel the open run
//	POST /v1/ag-ui/threads/{thread}/interrupt    end it, and all that is queued
//
// The body is a RunAgentInput. The client sends its whole history; the thread's own is
// what counts, and new are the user messages behind the last that the agent has said. A
// message that the thread has, sent with a new runId, is said again: what followed it is
// taken back. A message id and a runId are [A-Za-z0-9._:-], 1 to 128 of them.
//
// # Runs
//
// The client makes the runId. It is another name of the run that the input opens, and
// makes the request idempotent: the same runId again follows the same run, from its
// begin, behind a MESSAGES_SNAPSHOT which takes back what the client was shown of it. So
// a client that has lost its connection sends its request again, to whichever server. A
// run that goes on after an interrupt or a frontend's tool has, as the protocol wants it,
// another runId each time, and is one run of the thread.
//
// # Tools of the frontend
//
// What is declared in tools is offered to the model behind the agent's own tools, for as
// long as the run lasts. A name that the agent has is refused with 409, unless the
// agent's tool is itself one that the client runs: then the agent's declaration counts. A
// call ends the response with success and without a result, in pendingToolCallIds for
// clients that know it, and its result comes as a tool message of the next input. A tool
// message with error fails the call.
//
// # Interrupts
//
// What a person is asked ends the response with the outcome interrupt, behind
// STATE_SNAPSHOT and MESSAGES_SNAPSHOT. The reason is tool_call for a call that waits for
// permission, whose payload is {"approved": true or false}, with a reason, remember and
// rememberAs if the person says them; and input_required for one that waits for
// something to be said. The next input must answer all that are open, by resume: if not,
// or if an answer is unknown, late or not what was asked for, the response is a
// RUN_ERROR and nothing has changed. cancelled denies. The same resume again changes
// nothing and shows the same.
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
// What context and system messages say is part of the model's request and of no message
// of the thread. parentRunId is told again, and means nothing else here. forwardedProps are
// the run's request, under ag_ui, for its hooks and tools.
//
// # What cannot be said
//
// A step that is restarted takes back what it had told by a MESSAGES_SNAPSHOT. A stream
// that ends before its run, because its host stops, ends with RUN_ERROR and the code
// stream_ended. Clients before 1.0 are told of a cancelled run as of one that succeeded:
// they refuse to hear of another outcome.
//
// # Where to look
//
//   - What an input is: request.go, with files content.go. What it comes to: handler.go, decide.go.
//   - What an event becomes: encoder.go, calls.go, state.go, live.go; its bytes: event.go.
//   - The conversation as the client has it, for snapshots and the history: transcript.go.
package agui

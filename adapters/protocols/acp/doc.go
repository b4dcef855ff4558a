// Package acp is the agent side of the Agent Client Protocol, version 1: JSON-RPC, one
// message a line, on the standard input and output of a process that an editor such as
// Zed has started. README.md describes the protocol for users of editors.
//
// [Serve] speaks with one client. A session is a thread, and the session's id the
// thread's. A prompt is a run, and its response is sent when the run is over:
//
//	initialize                 version 1, and the capabilities; no authentication
//	session/new                the id of a new thread
//	session/load               the thread's messages as session/update, then the response
//	session/resume             the same without the messages
//	session/prompt             the run, as session/update; the response is its stop reason
//	session/cancel             cancels the run; the response to the prompt is cancelled
//	session/close              cancels the run and forgets the session; the thread stays
//
// Text is an agent_message_chunk, reasoning an agent_thought_chunk. A tool_call announces a
// call; each tool_call_update has its input, its state (waiting, running, ended) or its
// result. Its id is made of the run, the step and the provider's id, which alone may
// repeat. The output of a running tool is not shown, its result is. When a step starts
// again, its calls are shown as failed; its text cannot be removed.
//
// # Permission
//
// If a call waits for a person's permission, the client receives
// session/request_permission within the same prompt, one call after the other. The options
// are allow_once, allow_always, reject_once and reject_always. The two "always" decisions
// are remembered for the thread and cover all calls of the rule that asked, as the option's
// name says; a new session asks again. They are offered only if the permission plugin or
// the Approval of a tool asks, since only these remember a decision. The outcome cancelled
// cancels the run.
//
// If a client disconnects, or selects none of the options, nothing is decided: the call
// continues to wait. As in every other protocol, the next prompt of the session replaces
// it; it can also be decided by another protocol.
//
// # Without a form in the protocol
//
//   - Version 1 can only ask for permission. A call that needs another input, such as that
//     of a tool that the client would run, is cancelled with a reason that the model reads,
//     and the run continues.
//   - The run waits for a child run, the prompt does not: it ends with end_turn.
//   - An error of a run is the JSON-RPC error of its prompt, with the public sentence.
//
// # Unused parts of the protocol
//
//   - MCP servers of the client are not connected, which the log reports: an agent has the
//     tools of its spec. The same holds for the client's files, its terminals and the
//     session's working directory.
//   - A message is text. An image or audio, or a binary resource, is refused. A link
//     reaches the model as Markdown, and an embedded text between tags with its address.
//
// The response to a line that is not a message is an error whose id is null, and the
// connection continues. A client that does not read delays no other work: its run
// continues, and a client that lags too far is disconnected.
//
// # Where to look
//
//   - The connection and its end: acp.go; its lines: lines.go and outlet.go.
//   - Methods: method.go. A prompt, its cancel and its questions: prompt.go, session.go
//     and permission.go.
//   - Events: encoder.go; messages: history.go; terminations: reason.go. The content of
//     prompts: content.go. Errors: refuse.go.
package acp

// Package acp is the agent side of the Agent Client Protocol, version 1: JSON-RPC, one
// message a line, on the standard input and output of a process that an editor such as
// Zed has started.
//
// [Serve] speaks with one client. A session is a thread, and the session's id the
// thread's. A prompt is a run, and its answer comes when the run is over:
//
//	initialize                 version 1, and what follows; no authentication
//	session/new                the id of a new thread
//	session/load               the thread's messages as session/update, then its answer
//	session/resume             the same without the messages
//	session/prompt             the run, as session/update; the answer is its stop reason
//	session/cancel             cancels the run; the prompt is answered with cancelled
//	session/close              cancels the run and forgets the session; the thread stays
//
// Text comes as agent_message_chunk, reasoning as agent_thought_chunk. A call is
// announced by tool_call; tool_call_update says its input, that it waits, runs or has
// ended, and its result. Its id is made of the run, the step and the provider's id, which
// alone may come again. What a running tool puts out is not shown, its result is. When a
// step starts again, its calls are shown as failed; its text cannot be taken back.
//
// # Permission
//
// A call that waits for a person's permission is asked about with
// session/request_permission, within the same prompt, one call after the other. The
// options are allow_once, allow_always, reject_once and reject_always. The answers for
// always are remembered for the thread, and hold for whatever the rule asks about that
// asked, as the option's name says; a new session asks again. They are offered only for
// what the permission plugin or the Approval of a tool asks, since nothing else remembers. The answer cancelled
// cancels the run.
//
// A client that goes away, or answers none of the options, has decided nothing: the
// call goes on waiting. The next prompt of the session takes its place, as everywhere; it
// can also be decided by another protocol.
//
// # What the protocol has no word for
//
//   - A tool that the client would run, or that asks a person for more than permission:
//     version 1 cannot ask that. The call is cancelled with a reason that the model reads,
//     and the run goes on.
//   - A child run is waited for by the run, not by the prompt: that ends with end_turn.
//   - An error of a run is the JSON-RPC error of its prompt, with the public sentence.
//
// # What of the protocol an agent here has no use for
//
//   - MCP servers of the client are not connected, which the log says: an agent has the
//     tools of its spec. The same goes for the client's files, its terminals and the
//     session's working directory.
//   - A message is text. An image or audio, or a binary resource, is refused; a link
//     comes to the model as Markdown, and an embedded text between tags with its address.
//
// A line that is no message is answered with an error whose id is null, and the
// connection goes on. A client that does not read holds up nobody: its run goes on, and
// when it is too far behind it is left.
//
// # Where to look
//
//   - The connection and its end: acp.go; its lines: lines.go and outlet.go.
//   - Methods: method.go. A prompt, its cancel and its questions: prompt.go, session.go
//     and permission.go.
//   - What an event becomes: encoder.go, what a message: history.go, how a run
//     ended: reason.go. What a prompt says: content.go. Errors: refuse.go.
package acp

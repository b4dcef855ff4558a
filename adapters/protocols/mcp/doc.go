// Package mcp serves agents and tools to clients of the Model Context Protocol, at
// POST /v1/mcp: versions 2026-07-28, which has no handshake, and 2025-11-25 and older,
// which do. It keeps no session, so that consecutive requests of a client may reach
// different processes; GET and DELETE are 405. The wire is the official Go SDK's.
//
// A client is offered one tool for each agent that is not hidden (agent.Spec.Hidden),
// under the agent's id and with the spec's description, never its prompt; one for each
// tool that an agent exposes (agent.Spec.ExposedTools), under its own name and with its
// own parameters; and get_run.
//
// A call of an agent's tool, {message, thread_id?}, is a run of the agent on a new
// thread or, with the thread_id of an earlier result, on that one. A message to a thread
// whose run waits is a person's input as in every other protocol: it takes the place of
// the decisions that the run waits for. A call of an exposed tool is a run as well, of
// an agent that asks no model (agent.Exposed): it is checked, gated, stored, suspended
// and not repeated as any call is.
//
// Results have a text and, as structured content,
//
//	{"run_id", "thread_id", "agent_id", "status", "termination", "tool_status", "result", "tickets"}
//
// where the status is one of
//
//   - done: the text is the agent's answer, or what the tool returned, whose data is the
//     result, too. A run that failed, was cancelled or blocked, and a tool that failed or
//     was refused, are errors (isError).
//   - waiting: tickets name the calls that wait, each with the HTTP request that decides
//     about it. It is no error. After the decision get_run, {run_id}, returns the answer.
//   - queued, running: the run goes on, get_run returns its answer. Where nothing can be
//     streamed a call waits for Options.Wait alone, and then says so.
//
// A call that came to no run is an error with {"status": "refused", "error", "code"}; the
// codes are those of the HTTP routes.
//
// A client that sends a progressToken is notified when the run begins, and of each step
// and call of a tool. One that sends _meta {"idempotencyKey": "..."}, or the header
// Idempotency-Key, may send a call again: the same key with the same arguments is the
// same run for 48 hours, and with others an error with the code conflict. A client that
// leaves does not cancel its run.
//
// What is no call is refused in words of JSON-RPC: -32700 for what is not JSON, -32600
// for a batch or another envelope, -32601 for methods other than initialize, ping,
// server/discover, tools/list and tools/call. The list of tools does not change while a
// process lives, so there is nothing to subscribe to.
//
// # Where to look
//
//   - Which tools there are, and a request's way to the SDK: mcp.go.
//   - What is refused before it: message.go. How its events leave: bridge.go.
//   - What a call submits, and how it waits: call.go. What it is told meanwhile:
//     progress.go. What it returns: result.go.
package mcp

// Package mcp serves agents and tools to clients of the Model Context Protocol, at
// POST /v1/mcp: versions 2026-07-28, which has no handshake, and 2025-11-25 and older,
// which do. It keeps no session, so that consecutive requests of a client may reach
// different processes; GET and DELETE are 405. The official Go SDK implements the wire.
// README.md describes the tools for users of MCP clients.
//
// The tools are one for each agent that is not hidden (agent.Spec.Hidden), under the
// agent's id and with the spec's description, never its prompt; one for each tool that an
// agent exposes (agent.Spec.ExposedTools), under its own name and with its own parameters;
// and get_run.
//
// A call of an agent's tool, {message, thread_id?}, is a run of the agent on a new thread
// or, with the thread_id of an earlier result, on that one. As in every other protocol, a
// message to a thread whose run waits is a person's input, which replaces the calls that
// wait. A call of an exposed tool is a run of an agent that calls no model
// (agent.Exposed): the call is checked, gated, stored, suspended and not repeated, like
// any other.
//
// Results have a text and, as structured content,
//
//	{"run_id", "thread_id", "agent_id", "status", "termination", "tool_status", "result", "tickets"}
//
// where the status is one of
//
//   - done: the text is the agent's response, or the result of the tool, whose data is in
//     result too. A run that failed, was cancelled or blocked, and a tool that failed or
//     was refused, are errors (isError).
//   - waiting: tickets name the calls that wait, each with the HTTP request that decides
//     it, unless a child run or the clock does. It is not an error. After the decision
//     get_run, {run_id}, returns the response.
//   - queued, running: the run continues, and get_run returns its response. An endpoint
//     that cannot stream returns this after Options.Wait at the latest.
//
// A call that starts no run is an error with {"status": "refused", "error", "code"}; the
// codes are those of the HTTP routes.
//
// A client that sends a progressToken is notified when the run starts, and of each step
// and call of a tool. With _meta {"idempotencyKey": "..."}, or the header Idempotency-Key,
// a client may send a call again: the same key with the same arguments is the same run for
// 48 hours, and with others an error with the code conflict. A client that disconnects
// does not cancel its run.
//
// Other requests are refused with errors of JSON-RPC: -32700 for invalid JSON, -32600 for
// a batch or another envelope, -32601 for methods other than initialize, ping,
// server/discover, tools/list and tools/call. The list of tools does not change during
// the life of a process, so that there is nothing to subscribe to.
//
// # Where to look
//
//   - The tools, and a request's way to the SDK: mcp.go.
//   - Refusals before that: message.go. The SDK's events on their way out: bridge.go.
//   - A call's submission and its wait: call.go. Its progress: progress.go. Its result:
//     result.go.
package mcp

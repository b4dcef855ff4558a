// Package aisdk speaks the AI SDK's UI message stream, version 1, so that
// useChat and its siblings work against Reveille unchanged.
//
// [New] returns the handler with the routes, which turns the events of a run into chunks:
//
//	POST /v1/ai-sdk/chat                     start a run, stream it
//	POST /v1/ai-sdk/threads/{id}/runs        the same, thread from the path
//	POST /v1/ai-sdk/agents/{id}/runs         the same, agent from the path
//	GET  /v1/ai-sdk/chat/{id}/stream         reconnect: the active run from its first chunk, or 204
//	GET  /v1/ai-sdk/threads/{id}/stream      the same
//	GET  /v1/ai-sdk/threads/{id}/messages    the thread as UI messages
//	POST /v1/ai-sdk/threads/{id}/cancel      cancel the active run
//	POST /v1/ai-sdk/threads/{id}/interrupt   end it, and all that is queued
//
// The chat id is the thread id, and the assistant's message id is the run id.
// The client sends its whole history, or its newest messages alone; new are the
// user messages at its end, and the last one's id makes the request idempotent. A
// message may have content, a text or a list of {type: "text", text}, instead of
// parts; then it needs no id. Closing the connection is a disconnect, not a cancel.
//
// A call that waits for a person's permission is a request for approval to the
// client; one that waits for anything else, such as a tool that the client runs,
// is a call with an input and no output. The run's stream ends then, with the
// finish reason tool-calls. A request whose last message is the assistant's
// decides: tool parts of its last step in state approval-responded,
// output-available and output-error are decisions on the calls that wait, and the
// response goes on with the same message. What such a decision says is its id, so
// the same request again changes nothing and is shown the same again. A history
// that ends with a user message decides nothing: the message is new input, which
// takes the place of what the run waits for. What the model says then is a message
// of its own, whose id is the run's with the number of a step.
//
// A request with the trigger regenerate-message wants another answer: to what was said
// before the assistant message that it names, or to its last message. A user message
// that is named and sent, at the end, takes the place of the one that the thread has
// under its id. Either takes back what the thread has from there on, interrupts what
// runs, waits or is queued, and is answered by a run, and a message, of its own; a
// request for approval that was taken back is 404. Such a request has no id: it is the
// same as another that takes the same run back, as long as the run that it began is
// queued or runs. A message that the thread does not have never arrived, and is new.
//
// Chunks carry only keys that version 6.0.0 of the client knows, because it
// refuses a stream with any other. That version cannot take back what it was
// sent: when a step is restarted, what the client saw of it stays in its copy
// of the message, open tool inputs are ended with an error, and the step's
// second attempt follows in a step of its own. The messages route shows the
// message without the void part. It gives the newest messages, as whole runs; of a
// thread that is longer than a response may be it says "truncated": true, and
// "cut": true when even the newest run is not whole.
//
// What a running tool puts out is shown as the preliminary output of its call, whole
// each time; its activities, progress among them, as transient data chunks, for the
// client's onData. An activity of type source-url, source-document or file is a part
// of the message, too. The output of a call whose result has metadata is {data,
// metadata}.
//
// The state of thread and run comes as data-state-snapshot, {"thread": {}, "run": {}},
// and each change of it as data-state-delta, a JSON Patch on that: transient parts,
// which a client's onData is given and no message keeps. A state of more than 64 KiB comes
// where the stream begins alone, and one of more than 1 MiB not at all.
//
// How the run fares comes as transient parts, too: data-run-info {runId, threadId,
// agentId} where it begins, data-inference-complete {model, stopReason, usage,
// durationMs} behind each turn, data-inference-retry {failed, waitMs, reason} when a
// model that failed is called again, data-model-switch {from, model, reason, failed} when
// another one of its pool goes on, data-model-circuit {model, state, waitMs} when the
// process leaves a model alone that fails too often, data-prefix-changed {reason} when a
// request does not begin like the one before it, and data-context-compacted {upTo,
// tokensBefore, tokensAfter} and data-context-skipped {upTo, reason} when a summary takes
// the place of what was said before, or came to nothing.
//
// The handler expects to be mounted behind package httpapi, which puts the
// identity into the context, limits the body and refuses unknown routes.
//
// # Where to look
//
//   - What a request is, input or decisions: request.go and chat in handler.go.
//   - What is said again or edited, and when it is new after all: retake.go.
//   - Which parts decide, on what, and the outcome of a repeated request: decide.go; of
//     decisions that come with new input: answered.go.
//   - What an event becomes: encoder.go, of a running tool live.go,
//     what is data data.go; its bytes: chunk.go
//     and frames.go.
//   - The ids of assistant messages, and which steps of a run a response leaves out:
//     response.go.
//   - The history that a client loads: messages.go. Which of several new messages the
//     thread has already: known.go.
package aisdk

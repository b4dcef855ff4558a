// Package aisdk speaks the AI SDK's UI message stream, version 1, so that useChat and
// similar clients work against Reveille unchanged. README.md describes the protocol for
// authors of frontends.
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
//	POST /v1/ai-sdk/threads/{id}/interrupt   end it and all queued runs
//
// The handler expects to be mounted in package httpapi, which puts the identity into the
// context, limits the body and refuses unknown routes.
//
// # Requests
//
// The chat id is the thread id, and the id of the assistant's message is the run id. The
// client sends its whole history, or its newest messages alone. The user messages at the
// end are new, and the id of the last one makes the request idempotent.
//
// If the last message is the assistant's, the request decides: tool parts of its last step
// in state approval-responded, output-available and output-error are decisions on the
// calls that wait, and the response continues that message. The id of a decision is
// derived from its content, so the same request again changes nothing and returns the same
// response. A history that ends with a user message is new input, which replaces the calls
// that the run waits for. The response to it is a separate message, whose id is the run's
// with the number of a step.
//
// A request with the trigger regenerate-message repeats the input before the assistant
// message that it names, or before the last message of the thread. If it names and sends a
// user message, that message replaces the stored one with its id. Either supersedes the
// thread from there on, and interrupts open and queued runs. A superseded request for
// approval is 404. Such a request has no id. It counts as a retry of another one that
// supersedes the same run, as long as the run that it started is queued or running. A
// message that the thread does not have never arrived, and is new.
//
// # Chunks
//
// Chunks carry only keys that version 6.0.0 of the client knows, because it refuses a
// stream with any other. That version cannot remove chunks that it has received. If a step
// starts again after visible output, the response ends with an error, and open tool inputs
// and calls end with one; the client resumes and gets the message without the void part.
//
// The output of a running tool is the preliminary output of its call, whole each time. Its
// activities are transient data chunks. An activity of type source-url, source-document or
// file is also a part of the message. State, retries, switches of models and summaries are
// transient data parts; README.md lists them.
//
// # Where to look
//
//   - Requests, with input or decisions: request.go and chat in handler.go.
//   - Repeated and edited messages, and when they are new after all: retake.go.
//   - The parts that decide, their targets, and the outcome of a repeated request:
//     decide.go; decisions that come with new input: answered.go.
//   - Events: encoder.go, live.go for running tools, data.go for data parts; the bytes of
//     a chunk: chunk.go and frames.go.
//   - The ids of assistant messages, and the steps of a run that a response omits:
//     response.go.
//   - The history that a client loads: messages.go. The new messages that the thread
//     already has: known.go.
package aisdk

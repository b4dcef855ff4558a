// Package aisdk speaks the AI SDK's UI message stream, version 1, so that
// useChat and its siblings work against Reveille unchanged.
//
// An [Encoder] turns the events of a run into chunks; [New] returns the
// handler with the routes:
//
//	POST /v1/ai-sdk/chat                     start a run, stream it
//	POST /v1/ai-sdk/threads/{id}/runs        the same, thread from the path
//	POST /v1/ai-sdk/agents/{id}/runs         the same, agent from the path
//	GET  /v1/ai-sdk/chat/{id}/stream         reconnect: the active run from its first chunk, or 204
//	GET  /v1/ai-sdk/threads/{id}/stream      the same
//	GET  /v1/ai-sdk/threads/{id}/messages    the thread as UI messages
//	POST /v1/ai-sdk/threads/{id}/cancel      cancel the active run
//
// The chat id is the thread id, and the assistant's message id is the run id.
// The client sends its whole history; new are the user messages at its end, and
// the last one's id makes the request idempotent. Closing the connection is a
// disconnect, not a cancel.
//
// Chunks carry only keys that version 6.0.0 of the client knows, because it
// refuses a stream with any other. That version cannot take back what it was
// sent: when a step is restarted, what the client saw of it stays in its copy
// of the message, open tool inputs are ended with an error, and the step's
// second attempt follows in a step of its own. The messages route shows the
// message without the void part.
//
// The handler expects to be mounted behind package httpapi, which puts the
// identity into the context, limits the body and answers unknown routes.
package aisdk

// Package protocol is what all protocols over HTTP share, so that a new one decodes
// requests and encodes events, and does nothing else.
//
// # How to add a protocol
//
// A protocol touches three places:
//
//  1. A folder adapters/protocols/NAME, with three parts. Its decoder makes a mailbox.Submission of
//     a body and, if the protocol has them, decisions; it alone knows the form of
//     requests. Its encoder is an [Encoder]: it turns the events of one response into
//     frames. It does no I/O, so that a golden test of events and frames covers it. Its
//     New([Host], *Options) http.Handler is a table of [Server.Routes].
//  2. functions/app/web/web.go, which mounts the handler under its path in package httpapi.
//     That authenticates, bounds the body and refuses unknown paths.
//  3. A README.md in the folder, which tells clients how to connect, and a line in
//     adapters/README.md.
//
// A route uses [Server.Complete], which checks a submission; [Server.Serve], which
// streams a run as the encoder writes it; and [Server.Queue], which accepts the run where
// nothing can be streamed. [Server.Cancel] and [Server.Interrupt] are whole routes. The
// error that a route returns is its refusal: [Status] is the one table from error codes to
// statuses, and [Public] is all that a client may read of an error. The example of this
// package is a whole protocol.
//
// # Streams
//
// A stream never delays its run. A [Writer] accepts frames without waiting; a
// separate loop writes the frames that have gathered, and flushes once. If a reader reads
// nothing for [Stall], or lags by more than [MaxBacklog] bytes, it is dropped: from then on
// the listener returns that error, and the run continues. The headers wait for the first
// frame, so that a refused submission is still a JSON refusal with its own status.
//
// # Where to look
//
//   - The loop that writes, its deadlines and heartbeats: loop.go; the waits between writer and
//     loop: writer.go.
//   - How a stream ends, and when it is a refusal after all: stream.finish in serve.go.
//   - Slow readers of responses that are not streams: bound.go.
//   - Requests that browsers must not send: form.go.
package protocol

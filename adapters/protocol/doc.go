// Package protocol is how every protocol answers a streaming request: with
// server-sent events, or, as long as none was sent, with a JSON refusal.
//
// A [Writer] holds the response headers back until the first frame, so that a
// handler can start a run, learn that it is refused, and still answer [Refuse]
// with the right status. [Writer.KeepAlive] runs the work beside a heartbeat
// comment every 15 seconds of silence. [Status] is the one table from error
// codes to HTTP statuses.
package protocol

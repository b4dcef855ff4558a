// Package protocol is what every protocol over HTTP has in common, so that a
// new one is: decode a request, encode events.
//
// How do I add a protocol? Four files:
//
//  1. adapters/NAME/request.go decodes a body into a mailbox.Submission (and, if
//     the protocol has them, decisions); it is all that knows the requests' form.
//  2. adapters/NAME/encoder.go is an [Encoder]: it turns the events of one
//     response into frames. It does no I/O, so that a golden test of events and
//     frames says all about it.
//  3. adapters/NAME/NAME.go has New([Options]) http.Handler, with a route for
//     each request. [Options.Handle] gives a route the caller's identity and makes
//     what it returns a refusal; [Options.Complete] checks a submission;
//     [Options.Serve] streams a run as the encoder writes it; [Options.Queue]
//     takes the run where nothing can be streamed.
//  4. functions/app/web/web.go mounts the handler under its path, behind package
//     httpapi, which authenticates and bounds the body.
//
// The package's example is such a protocol, whole.
//
// A stream never holds up its run: a [Writer] takes frames without waiting and
// writes them from a loop of its own, those of one write with one flush. A reader
// that takes nothing for [Stall], or is more than [MaxBacklog] bytes behind, is
// left: the listener returns that error from then on, and the run goes on. The
// headers are held back until the first frame, so that a submission which is
// refused is still a JSON refusal with its own status: [Status] is the one table
// from error codes to statuses.
package protocol

// Package lambda turns Lambda events into calls of the runtime, and their results into
// responses. It has every Lambda handler, as a method of [Handlers]. The deployed
// functions and the local host use the same handlers:
//
//   - [Handlers.Step] passes the wake-ups of an SQS batch to the runtime, which decides
//     which of them may run concurrently;
//   - [Handlers.DeadLetters] handles wake-ups that no step could finish;
//   - [Handlers.Sweep] is the scheduled repair, and drains the dead-letter queue;
//   - [Handlers.Trigger] passes events of AWS to the triggers that start runs, and
//     [ReadEvents] recognizes their shapes;
//   - [Handlers.Stream] serves an http.Handler behind a Function URL or an API Gateway
//     REST API with response streaming;
//   - [Handlers.Buffered] serves one behind API Gateway without streaming;
//   - [AfterResponse] calls a function after a response is posted, when the process may
//     end.
//
// The context of a request carries what its front end verified about the sender, and the
// policies of package identity/caller read it there. The file caller.go shows, for each
// kind of front end, which fields of an event it trusts.
//
// A handler keeps no state between invocations and may run several times concurrently in
// one process. No goroutine that it starts outlives its invocation.
package lambda

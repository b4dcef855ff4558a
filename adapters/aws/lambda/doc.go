// Package lambda turns Lambda events into calls of the runtime and back. It
// has every Lambda handler, as a method of [Handlers]; the functions and the local host
// both use them, so that what runs on a laptop is what is deployed:
//
//   - [Handlers.Step] gives the wake-ups of an SQS batch to the runtime, which
//     decides what of it may run beside what;
//   - [Handlers.DeadLetters] takes care of wake-ups that no step could finish;
//   - [Handlers.Sweep] is the scheduled repair, and drains the dead-letter queue;
//   - [Handlers.Trigger] gives events of AWS to the triggers that start runs, and
//     [ReadEvents] tells their shapes apart;
//   - [Handlers.Stream] serves an http.Handler behind a Function URL or an API Gateway
//     REST API with response streaming;
//   - [Handlers.Buffered] serves one behind API Gateway without streaming;
//   - [AfterResponse] tells when a response is out and the process may end.
//
// What a front end verified about the sender of a request is in its context, where the
// policies of package identity/caller look for it: caller.go says what of an event counts,
// door by door.
//
// A handler keeps nothing between invocations and may run several times at
// once in one process. No goroutine that it starts outlives its invocation.
package lambda

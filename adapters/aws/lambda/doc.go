// Package lambda turns Lambda events into calls of the runtime and back. It
// holds the constructors of every Lambda handler, which the functions and the
// local host both call, so that what runs on a laptop is what is deployed:
//
//   - [StepHandler] gives the wake-ups of an SQS batch to the runtime, which
//     decides what of it may run beside what;
//   - [DeadLetterHandler] takes care of wake-ups that no step could finish;
//   - [SweepHandler] is the scheduled repair, and drains the dead-letter queue;
//   - [TriggerHandler] gives events of AWS to the triggers that start runs, and
//     [ReadEvents] tells their shapes apart;
//   - [Stream] serves an http.Handler behind a Function URL or an API Gateway
//     REST API with response streaming;
//   - [Buffered] serves one behind API Gateway without streaming;
//   - [AfterResponse] tells when a response is out and the process may end.
//
// What a front end verified about the sender of a request is in its context, as
// a caller.Caller: caller.go says what of an event counts, door by door.
//
// A handler keeps nothing between invocations and may run several times at
// once in one process. No goroutine that it starts outlives its invocation.
package lambda

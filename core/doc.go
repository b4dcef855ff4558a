// Package core is the vocabulary of Reveille: the data that every other
// package speaks of, its wire form (JSON) and its validation. It holds no
// behaviour and imports nothing of the project.
//
// A [Message] is what a person, a model or a tool said on a thread. A [Run] is
// one execution of an agent over a thread. An [Event] is one item of a run's
// stream, and its [Position] the place in it. A [Ticket] is a tool call that waits
// for a [Decision]. An [Error] carries the stable code that the HTTP API returns.
//
// # Where to look
//
// The questions that newcomers ask first, and the files that say so, in the order
// in which to read them. The package docs of core/run, core/runtime and
// adapters/protocol go on from here.
//
// Where is it decided that a run waits?
//
//   - core/run/machine.go, runRound: the round has open calls, and nothing of it can
//     run any more, as core/run/schedule.go has found.
//   - core/run/wait.go, commitWait: proposes to wait, and stores what for.
//   - core/thread/calls.go, Head.outcome: has the last word. A decision or input that
//     came meanwhile makes the run go on.
//
// What happens when a tool panics?
//
//   - core/tool/execute.go, Execute: the call gets an error result, whose text does not
//     quote the panic. The model reads it, and the run goes on.
//   - core/run/execute.go, runTool: the goroutine in which it panics, and why nothing
//     else of the step is in there.
//   - core/run/call.go, toolReturned: logs the stack; conclude stores the result, like
//     any other.
//
// How do I add a protocol?
//
//   - adapters/protocol/doc.go: the four files that it takes, and what each is given.
//   - adapters/protocol/example_test.go: such a protocol, whole.
//   - functions/app/web/web.go: where it is mounted.
//
// What does a cancelled run write?
//
//   - core/thread/control.go, Cancel: the first write, which makes the run closing.
//   - core/run/end.go: the comment at its head has every end, and what each writes in
//     which order; closeRun is the code.
//   - core/thread/commit.go, CommitClose: the last write.
//
// Where does a delta get its SSE id?
//
//   - core/position.go: what a position is made of, its form and its order.
//   - core/run/turn.go, say and emit: the block of a delta, and the byte at which it
//     ends; core/run/event.go, emitAt, makes the position of them.
//   - adapters/httpapi/encoder.go, add: the position becomes the frame's id.
package core

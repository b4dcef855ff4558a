// Package tool is what a model can call: a [Tool] describes itself by a [Spec],
// checks its arguments and runs.
//
// # Making one
//
// [New] makes a tool of a [Spec] and a Go function. Unless the spec has a schema, the one
// that the model sees is inferred from the function's argument type, once, and what the
// function returns is the result. [NewClient] makes a tool that has no code here: the
// client runs it. Other kinds of tools implement [Tool].
//
// # Arguments
//
// They are checked before any gate is asked and anything runs: by the schema, then by
// the Check method of the argument type, if it has one. What is wrong is a result of
// status invalid that names the argument ([InvalidArgument]), and the model tries again.
// The function is called with arguments that passed all of it.
//
// # Approval
//
// If the spec has an Approval, a person is asked that question before a call runs, after
// its arguments were checked. What depends on the arguments, or on more than a yes, the
// tool asks itself: see Results.
//
// # Results
//
// [NewResult] and [Failed] are what the model reads. With [Result.With] a result
// changes the state or has effects, which are committed with it; with
// [Result.WithMetadata] it says something to clients and hooks that the model does not
// read. [Suspended] makes the call wait for a decision instead; the tool runs again
// when that has come, and finds it in [Call.Resume].
//
// # Errors
//
// A run executes any tool so that whatever goes wrong becomes a result that the model
// can read: invalid arguments, an error, a timeout, a panic, a result that is too
// large. So an error that a tool returns is written for the model, and has no secrets.
// Only an error wrapped by [Fatal] ends the run.
//
// # Running again
//
// A process may die between the moment when a tool has acted and the one when its
// result is stored. Such a call runs again with the same [Call.Key], which is an
// idempotency key for whatever the tool calls. A tool that changes nothing outside of its
// run says ReadOnly; one that cannot use the key says AtMostOnce, and the model reads
// that the outcome is unknown. [Call.Once] keeps what a part of the call came to. Whether
// a tool keeps to it, package core/internal/sim/simtest finds out.
//
// # Time
//
// The context ends with [Spec].Timeout or with the step, whichever is first. A tool
// that hands its context on returns at once; one that does not is left behind two
// seconds later: its outcome is unknown, and nothing of it counts any more.
//
// # Showing the work
//
// While it runs, a tool may show how far it is ([Call.Progress]), what it puts out
// ([Call.Output]) and what it works on ([Call.Activity], [Call.ActivityPatch]):
//
//	for i, page := range pages {
//		call.Progress(float64(i), float64(len(pages)), page.Title)
//		...
//	}
//
// Whoever follows the run sees it at once, as events of the types
// tool_call_stream_delta, activity_snapshot and activity_delta. It is not stored, so
// that a reader who comes later has the result alone; it is no part of the result
// either: a tool that shows nothing comes to the same. Where nobody listens the
// methods do nothing, so a tool need not ask; they never wait for a reader. A call
// shows at most 10,000 reports of 1 MiB together, the rest is
// dropped and the log says so.
//
// # Testing one
//
// The function RunTool of core/reveille/reveilletest runs a tool by itself, as a run does.
package tool

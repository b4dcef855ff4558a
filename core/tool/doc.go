// Package tool defines the functions that a model can call. A [Tool] describes itself with a
// [Spec], checks its arguments and runs.
//
// # Making one
//
// [New] makes a tool from a [Spec] and a function in Go. If the spec has no schema, New infers
// one from the type of the function's arguments. The return value of the function is the
// result. [NewClient] makes a tool that the client runs. For any other kind of tool,
// implement [Tool].
//
// # Arguments
//
// The runtime checks the arguments before it calls a gate or runs the tool. It checks the
// schema first, then the Check method of the argument type, if there is one. Wrong arguments
// give a result with the status invalid that names the argument ([InvalidArgument]), and the
// model can try again. The function receives only arguments that passed both checks.
//
// # Approval
//
// If the spec has an Approval, a person answers that question before each call runs. The
// arguments are checked first. If the question depends on the arguments, or needs more than
// yes or no, the tool returns [Suspended] instead.
//
// # Results
//
// [NewResult] and [Failed] make the text that the model reads. [Result.With] adds changes of
// the state and effects, which are committed with the result. [Result.WithMetadata] adds
// data for clients and hooks that the model does not read. [Suspended] makes the call wait
// for a decision, or until a time. Then the tool runs again and finds the decision in
// [Call.Resume].
//
// # Errors
//
// The runtime turns each failure into a result that the model can read: invalid arguments,
// an error, a timeout, a panic, a result that is too large. Write errors for the model, and
// put no secrets into them. Only an error wrapped by [Fatal] ends the run.
//
// # Running again
//
// A process can die after a tool has acted and before its result is stored. The call then
// runs again with the same [Call.Key]. Use that key as the idempotency key of everything
// that the tool calls.
//
// If a tool changes nothing outside of its run, set ReadOnly. It can then start while its
// turn is still being stored, which makes the step shorter. If a tool cannot use the key, set
// AtMostOnce: then the call does not run again, and the model reads that the outcome is
// unknown. [Call.Once] stores the result of one part of a call, so that a repeated call
// skips it. To test all of this, run package core/reveille/reveilletest over your agent.
//
// # Time
//
// The context ends with [Spec].Timeout or with the step, at the earlier of the two. A tool that
// passes its context on returns immediately. The runtime abandons any other tool two seconds
// later: the outcome of its call is unknown, and its result is dropped.
//
// # Showing the work
//
// While it runs, a tool can report its progress ([Call.Progress]), its output
// ([Call.Output]) and its activity ([Call.Activity], [Call.ActivityPatch]):
//
//	for i, page := range pages {
//		call.Progress(float64(i), float64(len(pages)), page.Title)
//		...
//	}
//
// Clients that follow the run receive these reports immediately, as events of the types
// tool_call_stream_delta, activity_snapshot and activity_delta. The reports are not stored
// and do not change the result, so a client that connects later sees the result alone. If
// no client follows the run, the methods do nothing. They never wait for a client. A call
// can make at most 10,000 reports of 1 MiB together. The runtime drops the rest and logs
// that.
//
// # Testing one
//
// The function RunTool of core/reveille/reveilletest runs a single tool as a run does.
package tool

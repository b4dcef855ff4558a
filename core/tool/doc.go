// Package tool is what a model can call: a [Tool] describes itself by a [Spec],
// checks its arguments and runs.
//
// [New] makes a tool of a Go function where it is used; the JSON Schema that the model
// sees is inferred from the function's argument type, once, and what it returns is the
// result. [Typed] does so from a whole [Spec], with a timeout or a schema of its own.
// [NewClient] and [Client] make tools that the client runs. [Execute] runs any tool so
// that whatever goes wrong becomes a result that the model can read: invalid
// arguments, an error, a panic, a result that is too large. Only an error
// wrapped by [Fatal] ends the run.
package tool

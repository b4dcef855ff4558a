// Package tool is what a model can call: a [Tool] describes itself by a [Spec],
// checks its arguments and runs.
//
// [Typed] makes a tool of a Go function; the JSON Schema that the model sees is
// inferred from the function's argument type, once. [Execute] runs any tool so
// that whatever goes wrong becomes a result that the model can read: invalid
// arguments, an error, a panic, a result that is too large. Only an error
// wrapped by [Fatal] ends the run.
package tool

// Package inference calls a model until its turn is complete.
//
//   - [Circuits] make single calls of models, each if the model's circuit lets it.
//   - A [Turn] collects the model's output in a step, emits it, and makes the
//     calls: a call that fails is repeated, with the same model or another member
//     of the agent's pool, here or in another delivery of the run.
//
// These rules must hold:
//
//   - No byte that a client has seen is sent again, see speech.cut: the next call
//     resumes after the remaining text, and the turn is the output of all calls
//     together.
//   - Positions are those of the turn as it will be committed.
//   - Each failed call counts before the next action is decided, so that a step
//     which crashes or is released never makes more calls than its agent allows.
//   - Values that are the same in every process follow from the log (the next
//     member of a pool). Values that are not (circuits, the failures of this step)
//     decide nothing that is stored but in the record of the turn itself.
//
// The package has no store and no agent code but the adapter of the model. It needs
// two ports of its step: [Prompt] makes the requests, [Claim] has the claim and the
// conversation. Errors decide the fate of the run: [RetryError], [EndError], or an
// error of the ports.
package inference

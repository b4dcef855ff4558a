// Package inference calls a model until it has said a whole turn.
//
//   - [Circuits] make single calls of models, each if the model's circuit lets it.
//   - A [Turn] collects what the model says in a step, emits it, and makes the calls: a
//     call that fails is made again, of the same model or of another member of the agent's
//     pool, here or by another delivery of the run.
//
// What must hold:
//
//   - No byte that a client was shown is sent again, see speech.cut: the next call resumes
//     after the text that stands, and the turn is what all calls have said together.
//   - Positions are those of the turn as it will be committed.
//   - Each failed call counts before it is decided what follows, so that a step which
//     crashes or is given back never makes more calls than its agent allows.
//   - What is the same in every process follows from the log (whose turn it is in a pool),
//     and what is not (circuits, the failures of this step) decides nothing that is stored
//     but in the record of the turn itself.
//
// The package has no store and no agent code but the adapter of the model. What it needs of
// its step are two ports: [Prompt] makes the requests, [Claim] has the claim and the
// conversation. Errors say what becomes of the run: [RetryError], [EndError], or what the
// ports have returned.
package inference

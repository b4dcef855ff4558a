// Package replay drives the present code over threads that were recorded, and says
// where it would do something else.
//
// A replay takes each run of a thread through the real step machine, on a store in
// memory: the model says what it said then, tools return what they returned, people
// say and decide what they did, and every clock shows what it showed. What the code
// itself decides, it decides anew: hooks, gates, reducers, stop policies, the
// validation of arguments, the merge of a round. Records are then compared, one by
// one, byte for byte, and the first difference is a [Difference].
//
// # What is not repeated
//
//   - Tools, models and effects do not run. Tools are replaced by their results, with
//     what they had asked for; effects have happened.
//   - Which worker did what: claims, fences, takeovers and retries of the model are
//     left out, and so are the fences in what is compared.
//   - What was read elsewhere. Profiles lie outside of threads, and no record has what
//     they held: without [Options].Profiles a hook that reads one gets an error, and with
//     it what stands there now.
//   - Steps that came to nothing. Of a step whose model failed, or whose hook did, the
//     log has no turn: the run's end is taken from its record there, and of the round
//     that was open when a run ended the results are, with what their hooks had asked
//     for. RunEnd runs.
//   - A run of another agent than the present one (another spec, other tools), unless
//     its spec was kept: then it is that of then, with the code of now.
package replay

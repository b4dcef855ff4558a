// Package replay drives the present code over recorded threads, and reports where it would
// act differently.
//
// A replay takes each run of a thread through the real step machine, on a store in memory:
// the model repeats its turns, tools return their results, people repeat their input and
// decisions, and every clock shows the recorded time. The code makes its own decisions
// again: hooks, gates, reducers, stop policies, the validation of arguments, the merge of a
// round. Records are then compared, one by one, byte for byte, and the first difference is
// a [Difference].
//
// # Limits of a replay
//
//   - Tools, models and effects do not run. Tools are replaced by their results, with their
//     requests; effects have happened.
//   - Workers are not repeated: claims, fences, takeovers and retries of the model are
//     omitted, and so are the fences in the comparison.
//   - Values outside of threads are not repeated. No record has the values of profiles:
//     without [Options].Profiles a hook that reads one gets an error, and with it the
//     present value.
//   - Steps without an outcome are not repeated. If a step's model or hook failed, the log
//     has no turn: the run's end is taken from its record there. If a round was open when a
//     run ended, its results are taken, with the requests of their hooks. RunEnd runs.
//   - A run of another agent than the present one (another spec, other tools) is not
//     repeated, unless its spec was kept: then it is the old spec with the present code.
package replay

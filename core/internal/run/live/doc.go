// Package live lets readers see a turn while its model generates it, before the
// commit that makes the turn part of the log. A client that streams the run has its
// events immediately; this package is for all others.
//
//   - A [Writer] keeps the events of one step's inference in memory. It is the tap
//     of the step's history.Emitter.
//   - Readers of the same process ask the Writer: [Writer.Hear], with a [Hearing]
//     that has their place.
//   - Readers of other processes leave a [Mark] next to the head (F#). The step's
//     watch reads it with each look; while it is valid, the Writer stores the
//     events as chunks (E#), which [Attempt.Events] decodes.
//
// A chunk is a cache of a moment: no step reads one, no head names one, and one
// that is missing costs its readers time and nothing else. So every failure here
// ends the storing and never the step.
//
// An attempt is a step's inference under a fence, and its chunks are numbered from
// 0. They hold every event of the attempt from step_start on, in order and without
// a gap. This holds however late the first of them is written and however often
// writing stops and resumes: the first chunks of an attempt are always a prefix of
// its live stream. Only the head decides for readers which attempt counts, see
// [AttemptOf]; chunks of another fence are void. If a claim takes its next fence
// within an inference, since something was dropped that had been shown, the chunks
// start again under that fence, with the remaining part of the turn.
package live

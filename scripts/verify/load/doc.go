// Command load asks the local host for many streams at once, and says what they cost.
//
//	go run ./scripts/verify/load -streams 500 -words 50 -idle 2000
//
// It builds and starts a host of its own, with the demo agent, on a file in a folder of
// its own, and is its only client, on the same machine: what it measures holds both.
//
// First each of the streams is asked to say so many words, ten a second, all of them at
// once. A stream must be whole: status 200, events numbered without a gap, the words
// exactly, run_finish with a natural end, nothing behind it. Then each of the idle
// followers opens the stream of a run of its own that is not due for an hour, and is left
// alone with its heartbeats. Anything else than that is an error, which is printed, and
// the exit status is 1.
//
// The figures:
//
//   - first byte: from the moment before the request is sent until the first byte of the
//     first event is read; the 95th percentile of the streams. It holds the connection,
//     the submission and its write to the file, one of as many at the same moment.
//   - delay of a delta: from the time that its event says, when the model said it, until
//     it was read; the 99th percentile of all deltas. The host tells milliseconds.
//   - memory of a stream: by how much the host's resident memory has grown, from before
//     the first to the middle of the words, by stream.
//   - processor of the followers: what the host has used of one processor while they were
//     idle, in percent; their heartbeats are in it.
package main

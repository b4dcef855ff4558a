// Command load opens many streams on the local host and prints their cost.
//
//	go run ./scripts/verify/load -streams 500 -words 50 -idle 2000
//
// It builds and starts a host with the demo agent, on a file in a new folder. It is the only
// client of the host and runs on the same machine, so the figures include both.
//
// First, all streams start together, and each model generates ten words a second. A stream must
// be complete: status 200, events numbered without a gap, the exact words, run_finish with a
// natural end, and no further events. Then each idle follower opens the stream of a separate
// run that is not due for an hour, and receives only heartbeats. Everything else is an error,
// which is printed, and the exit status is 1.
//
// The figures:
//
//   - first byte: from the moment before the request is sent until the first byte of the
//     first event is read; the 95th percentile of the streams. It includes the connection, the
//     submission and its write to the file, concurrently with all others.
//   - delay of a delta: from the time in its event, which is the time of the model, until it
//     was read; the 99th percentile of all deltas. The time has a resolution of milliseconds.
//   - memory of a stream: the growth of the host's resident memory, from before the first
//     stream to the middle of the words, divided by the number of streams.
//   - processor of the followers: the host's use of one processor while all followers are
//     idle, in percent, including their heartbeats.
package main

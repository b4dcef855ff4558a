// Command soak uses fifty threads of the local host at once, kills the host
// again and again, and checks that nothing came of it.
//
//	go run ./scripts/verify/soak -kills 60
//
// It knows the host only as its users do: the binary that it starts as a child
// process, signals, and HTTP. The binary is the test build (tag killpoints),
// whose tools note each execution in a file; nothing else in it differs.
//
// Each thread has one client, which sends one request after the other in every
// input mode and over every door (native messages, native runs, AI SDK chats),
// gives up waiting at times, repeats what had no response, repeats some of what
// had one, and cancels. Others follow runs, lose their connection, and resume.
// Meanwhile the host gets SIGKILLs and SIGTERMs: alone, in bursts, while it
// starts, while it stops, and within a round of tools. A thread
// that has had its share is left to end its runs; then its log, its runs and
// all that its clients were told are compared:
//
//   - lost: every acknowledged input is in the log, unless the run that was to
//     read it was cancelled or superseded, by somebody;
//   - doubled: no input and no run is there twice, and each turn is the scripted
//     model's response to what precedes it;
//   - order: queued input stands in the order of its acknowledgement;
//   - result: every call has exactly one result, at its place;
//   - unfinished: every run has ended;
//   - ended: no run ended but as it was asked to. A run may be dead-lettered
//     after five SIGKILLs in its lifetime, however many SIGTERMs it saw;
//   - stream: what a client read, resumed or not, is the committed run, with no
//     byte twice and none left out;
//   - executed: no tool ran twice in one life of the host, nor again after its
//     result had been shown;
//   - decided: what was approved ran, what was denied or never decided did not, and a
//     decision that was acknowledged is what the run goes on with;
//   - refused: no repetition, cancel or read got a response that it must not get;
//   - host: it starts, it stops when told, it never ends by itself.
//
// The last line says what was done and what was found; any violation makes the
// exit status 1 and prints the thread: what its clients did, its log, its runs,
// and the host's words about it. The seed decides what is sent and when the
// host dies, but not how far the host is by then: a seed repeats the plan.
package main

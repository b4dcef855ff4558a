// Command soak uses fifty threads of the local host concurrently, kills the host again and
// again, and checks that nothing is lost or duplicated.
//
//	go run ./scripts/verify/soak -kills 60
//
// It uses the host as its users do: it starts the binary as a child process and sends signals
// and HTTP requests. The binary is the test build (tag killpoints), whose tools log each
// execution to a file. It does not differ otherwise.
//
// Each thread has one client. The client sends requests in sequence, in every input mode and
// to every kind of endpoint (native messages, native runs, AI SDK chats). Sometimes it stops
// waiting. It repeats requests without a response and some with a response, and it cancels
// runs. Other clients follow runs, lose their connection, and resume. During this, the host
// gets SIGKILLs and SIGTERMs: single ones, bursts, during its start, during its stop, and in a
// round of tools. When a thread has had its share of requests, its runs may end. Then its log,
// its runs and the responses to its clients are compared:
//
//   - lost: every acknowledged input is in the log, unless a client has cancelled or
//     superseded the run that was to read it;
//   - doubled: no input and no run occurs twice, and each turn is the scripted model's
//     response to the messages before it;
//   - order: queued input is in the order of its acknowledgement;
//   - result: every call has exactly one result, at its place;
//   - unfinished: every run has ended;
//   - ended: a run only ends as requested. It may become a dead letter after five SIGKILLs in
//     its lifetime, with any number of SIGTERMs;
//   - stream: the text that a client has read, resumed or not, is that of the committed run,
//     without a repeated or missing byte;
//   - executed: no tool ran twice in one life of the host, or again after a client has seen
//     its result;
//   - decided: approved calls ran, denied and undecided calls did not, and an acknowledged
//     decision is the one with which the run continues;
//   - refused: no repetition, cancel or read got a wrong response;
//   - host: it starts, it stops after a signal, and it never exits by itself.
//
// The last line has the numbers of requests and violations. A violation sets the exit status to
// 1 and prints the thread: the requests of its clients, its log, its runs, and the log of the
// host about it. The seed determines the requests and the times of the signals, but not the
// progress of the host: a seed repeats the plan.
package main

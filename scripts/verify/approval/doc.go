// Command approval shows that a call which waits for a person costs nothing and
// survives everything: the local host is killed while the call waits, started
// again on the same file, and goes on when the decision comes.
//
//	go run ./scripts/verify/approval
//
// It talks to the host as an AI SDK client does, prints what it sees, and exits 1
// at the first thing that is not as it must be. It takes a few seconds, most of
// them to build the host.
package main

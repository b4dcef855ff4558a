// Command approval shows that a waiting call needs no process: it kills the local host while a
// call waits for approval, starts it again on the same file, and sends the decision. The run
// continues.
//
//	go run ./scripts/verify/approval
//
// It talks to the host as an AI SDK client does and prints what it receives. At the first
// difference from the expected behavior it exits with status 1. It takes a few seconds, most of
// them to build the host.
package main

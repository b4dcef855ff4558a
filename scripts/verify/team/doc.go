// Command team shows that the runs of several agents need no process: it kills the local host
// while two specialists run, while one of them waits for approval, and right after the
// approval. Each time it starts the host again on the same file. The coordinator then answers,
// and each specialist has run once.
//
//	go run ./scripts/verify/team
//
// It uses the native routes and talks to the coordinator's run alone: that run's stream shows
// the specialists, and its route takes the decision. At the first difference from the expected
// behavior it exits with status 1. It takes a few seconds, most of them to build the host.
package main

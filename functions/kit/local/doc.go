// Package local is the local host: the handlers that get deployed, behind an
// in-process queue and an embedded store, in one process.
//
//	go run ./scripts/user/dev
//
// [Main] is given the agents, models and protocols of a deployment. It binds
// REVEILLE_ADDR first, so that a second host at the same address touches nothing. Then it
// opens one file, REVEILLE_DATA, which it locks: no other worker can live now, so it takes
// open claims back at once and wakes what is due. Only then does it serve; requests that
// came meanwhile have waited.
//
// Triggers (triggers.go) take events over HTTP, and a clock for each schedule keeps its
// time.
//
// [Stdio] is the same host without its address, for a program that starts it and speaks
// with it on standard input and output: see package editor. Of its triggers only the
// schedules work.
//
// A request passes the body's deadline (server.go), the guard against foreign
// pages (guard.go) and the health of the file (health.go) before it comes to the
// handler that is deployed. What the host says of itself is in announce.go.
package local

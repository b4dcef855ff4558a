// Package local is the local host: the deployed handlers in one process, with an in-process
// queue and an embedded store.
//
//	go run ./scripts/user/dev
//
// [Main] takes the agents, models and protocols of a deployment. It binds REVEILLE_ADDR
// first, so that a second host at the same address changes nothing. Then it opens and locks
// one file, REVEILLE_DATA. No other worker can exist now, so it releases open claims
// immediately and wakes threads that are due. Only then does it serve. Earlier requests
// wait until then.
//
// Triggers (triggers.go) take events over HTTP, and a clock for each schedule keeps its
// time.
//
// [Stdio] is the same host without an address, for a program that starts it and uses its
// standard input and output: see package editor. It supports only triggers with a schedule.
//
// A request passes the deadline of its body (server.go), the guard against foreign pages
// (guard.go) and the health check of the file (health.go), and then reaches the deployed
// handler. The log lines at the start and at the end are in announce.go.
package local

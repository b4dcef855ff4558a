// Package local is the local host: the handlers that get deployed, behind an
// in-process queue and an embedded store, in one process.
//
//	go run ./scripts/dev
//
// [Main] is given the agents, models and protocols of a deployment. It listens on
// REVEILLE_ADDR and keeps everything in one file, REVEILLE_DATA, which it locks: at
// start no other worker can live, so it takes open claims back at once, wakes what
// is due, and only then listens.
package local

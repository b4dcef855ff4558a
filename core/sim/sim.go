// Package sim is what the commands scripts/verify/sim and scripts/user/replay run: [Worlds]
// in which the real runtime works in simulated time, on a store, a queue and models that fail
// at every operation, and the [Replay] of recorded runs. Programs test their agents with
// core/reveille/reveilletest.
package sim

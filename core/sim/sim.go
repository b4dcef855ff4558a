// Package sim implements the commands scripts/verify/sim and scripts/user/replay. In
// [Worlds] the real runtime works in simulated time, on a store, a queue and models that
// can fail at every operation. [Replay] repeats recorded runs. Programs test their agents
// with core/reveille/reveilletest.
package sim

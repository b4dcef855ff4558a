// Package sim runs the real runtime (stepper, reducer, codecs, mailbox) in a simulated
// world: clock, store, queue, processes, models, tools, people. One goroutine moves at a
// time, in the order of a seed. The seed decides everything, so that a world that went
// wrong goes wrong again. At every operation that reaches out of a process, a fault may
// strike.
//
// [New] makes a world from a [Config]. [World.Run] runs it until nothing moves any more
// after the faults have stopped, and returns the violations. The rules are in check.go and
// the files next to it; they are checked at every write of a head.
//
// [World.Hash] is of everything that has happened in a world. To move code of the runtime
// safely, compare the hashes of two builds: `make same-worlds BASE=commit`.
//
// Code that runs here must wait through env.Env only. A wait on a channel or a
// lock that another function holds across a wait stops the world.
package sim

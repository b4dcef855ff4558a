// Package sim is what the commands scripts/verify/sim and scripts/user/replay use of the
// simulator: worlds in which the real runtime works in simulated time, on a store, a queue and
// models that fail at every operation, and the repetition of recorded runs. Programs test
// their agents with core/reveille/reveilletest.
package sim

import (
	"github.com/reveille-run/reveille/core/internal/sim"
	"github.com/reveille-run/reveille/core/internal/sim/replay"
)

// World is one simulated world: see its Run, Now, Hash and Stats.
type World = sim.World

// Config says what a world has, and which faults happen in it.
type Config = sim.Config

// Stats count what happened in worlds.
type Stats = sim.Stats

// New returns a world that has not run.
func New(c Config) *World { return sim.New(c) }

// Kind returns the configuration of the n-th world: each kind of world comes equally often.
func Kind(n int) Config { return sim.Kind(n) }

// KindName returns the name of the n-th world's kind.
func KindName(n int) string { return sim.KindName(n) }

// Day returns the configuration of a day of so many tenants, with the seed n.
func Day(n, tenants int) Config { return sim.Day(n, tenants) }

// Replay repeats the recorded runs of a thread: see its Thread.
type Replay = replay.Options

// Repeated is the outcome of one run that was repeated.
type Repeated = replay.Report

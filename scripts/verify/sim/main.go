// Command sim runs simulated worlds and reports what was violated: see core/internal/sim.
//
//	go run ./scripts/verify/sim                    # SEEDS worlds from SEED0 on
//	go run ./scripts/verify/sim -world 1234        # one world, told operation by operation
//	go run ./scripts/verify/sim -day 1000 -seeds 1 # a day of so many tenants
//	go run ./scripts/verify/sim -hash -seeds 40    # a hash of all that happens in each world
//
// Its last line counts worlds, runs, faults and violations. It fails when there
// was a violation.
package main

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/reveille-run/reveille/core/sim"
)

const defaultWorlds = 20_000 // each kind equally often

func main() {
	var w sim.Worlds
	flag.IntVar(&w.First, "seed0", number("SEED0", 0), "the first world")
	flag.IntVar(&w.Count, "seeds", number("SEEDS", defaultWorlds), "number of worlds")
	world := flag.Int("world", number("WORLD", -1), "print one `world`, operation by operation")
	flag.BoolVar(&w.Stop, "first", false, "stop at the first violation")
	flag.IntVar(&w.Show, "show", 5, "number of violations to print")
	flag.BoolVar(&w.Replayed, "replay", false, "replay the runs of every world, not only of some")
	flag.IntVar(&w.Tenants, "day", 0, "simulate days with this number of `tenants` instead")
	hash := flag.Bool("hash", false, "print only a hash of all events of each world")
	flag.Parse()
	debug.SetGCPercent(1600) // worlds are small and short
	violations := 0
	switch {
	case *hash:
		w.Hashes(os.Stdout)
	case *world >= 0:
		violations = w.Trace(os.Stdout, *world)
	default:
		violations = w.Run(os.Stdout)
	}
	if violations > 0 {
		os.Exit(1)
	}
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

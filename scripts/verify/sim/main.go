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
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core/sim"
)

const defaultWorlds = 20_000 // each kind equally often

func main() {
	first := flag.Int("seed0", number("SEED0", 0), "the first world")
	worlds := flag.Int("seeds", number("SEEDS", defaultWorlds), "how many worlds")
	world := flag.Int("world", number("WORLD", -1), "tell one world, operation by operation")
	stop := flag.Bool("first", false, "end with the first violation")
	show := flag.Int("show", 5, "how many violations to print")
	replayed := flag.Bool("replay", false, "repeat the runs of every world from their records, and not of some")
	tenants := flag.Int("day", 0, "simulate days of so many tenants instead")
	hash := flag.Bool("hash", false, "print a hash of each world, of all that happens in it, and nothing else")
	flag.Parse()
	kind, what, again := sim.Kind, sim.KindName, "go run ./scripts/verify/sim"
	if *tenants > 0 {
		kind = func(n int) sim.Config { return sim.Day(n, *tenants) }
		what, again = func(int) string { return "a day" }, fmt.Sprintf("%s -day %d", again, *tenants)
	}
	if *replayed {
		kind = func(n int) sim.Config {
			c := sim.Kind(n)
			c.Replayed = true
			return c
		}
	}
	debug.SetGCPercent(1600) // worlds are small and short
	violations := 0
	switch {
	case *hash:
		printHashes(os.Stdout, *first, *first+*worlds, kind)
	case *world >= 0:
		violations = tell(os.Stdout, *world, kind(*world))
	default:
		t := tally{out: os.Stdout, kind: kind, what: what, again: again, next: *first, last: *first + *worlds, show: *show, stop: *stop}
		violations = t.run()
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

// tell runs one world and prints what happens in it.
func tell(out io.Writer, n int, config sim.Config) (violations int) {
	buffered := bufio.NewWriter(out)
	defer buffered.Flush()
	var w *sim.World
	config.Trace = func(format string, args ...any) {
		fmt.Fprintf(buffered, "%14s "+format+"\n", append([]any{w.Now()}, args...)...)
	}
	w = sim.New(config)
	violation := w.Run()
	fmt.Fprintf(buffered, "world %d, hash %016x: ", n, w.Hash())
	if violation == "" {
		fmt.Fprintln(buffered, "no violation")
		return 0
	}
	fmt.Fprintln(buffered, violation)
	return 1
}

// printHashes prints the hashes of worlds, in their order, and says where one has a
// violation. It runs them on every core.
func printHashes(out io.Writer, first, last int, kind func(n int) sim.Config) {
	lines := make([]string, last-first)
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(lines); i = int(next.Add(1)) - 1 {
				w := sim.New(kind(first + i))
				violation := w.Run()
				lines[i] = strings.TrimSpace(fmt.Sprintf("world %d: %016x %s", first+i, w.Hash(), violation))
			}
		})
	}
	group.Wait()
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
}

// tally is what many worlds came to. It is shared by those who run them.
type tally struct {
	mu         sync.Mutex
	out        io.Writer
	kind       func(n int) sim.Config
	what       func(n int) string // kind of world the n-th is
	again      string             // the command that makes such worlds
	next, last int
	total      sim.Stats
	violations int
	show       int  // how many violations to print
	stop       bool // with the first violation
}

// run runs the worlds on every core.
func (t *tally) run() (violations int) {
	start, out := time.Now(), t.out
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(t.work)
	}
	group.Wait()
	t.total.Print(out)
	elapsed := time.Since(start)
	fmt.Fprintf(out, "%s, %.0f worlds a second\n", elapsed.Round(100*time.Millisecond), float64(t.total.Worlds)/elapsed.Seconds())
	fmt.Fprintf(out, "worlds=%d runs=%d faults=%d violations=%d\n", t.total.Worlds, t.total.Runs, t.total.Faults, t.violations)
	for _, complaint := range t.total.Tame() {
		t.violations++
		fmt.Fprintln(out, "too tame:", complaint)
	}
	return t.violations
}

func (t *tally) work() {
	for n, ok := t.take(); ok; n, ok = t.take() {
		w := sim.New(t.kind(n))
		violation := w.Run()
		t.note(n, w, violation)
	}
}

func (t *tally) take() (n int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == t.last || t.stop && t.violations > 0 {
		return 0, false
	}
	t.next++
	return t.next - 1, true
}

func (t *tally) note(n int, w *sim.World, violation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Add(&w.Stats)
	if violation == "" {
		return
	}
	if t.violations++; t.violations <= t.show {
		fmt.Fprintf(t.out, "world %d (%s): %s\n\t%s -world %d\n", n, t.what(n), violation, t.again, n)
	}
}

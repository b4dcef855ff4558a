package sim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/sim"
)

// Worlds are simulated worlds, identified by number. The kinds of worlds alternate, so that
// each occurs equally often.
type Worlds struct {
	First, Count int
	// Tenants makes each world a day of that many tenants; 0: worlds of all kinds.
	Tenants int
	// Replayed replays the runs of every world from their records; false: of some worlds.
	Replayed bool
	// Show is the largest number of violations to print. Stop ends at the first violation.
	Show int
	Stop bool
}

// command is the command that makes such worlds, for the report of a violation.
const command = "go run ./scripts/verify/sim"

// config returns the configuration of the n-th world.
func (w Worlds) config(n int) sim.Config {
	if w.Tenants > 0 {
		return sim.Day(n, w.Tenants)
	}
	c := sim.Kind(n)
	c.Replayed = c.Replayed || w.Replayed
	return c
}

// kind returns the name of the n-th world's kind, and the command that makes it.
func (w Worlds) kind(n int) (name, again string) {
	if w.Tenants > 0 {
		return "a day", fmt.Sprintf("%s -day %d -world %d", command, w.Tenants, n)
	}
	return sim.KindName(n), fmt.Sprintf("%s -world %d", command, n)
}

// Trace runs the n-th world and prints each of its operations. It returns the number of
// violations, which is at most 1: the first violation ends the world.
func (w Worlds) Trace(out io.Writer, n int) (violations int) {
	buffered := bufio.NewWriter(out)
	defer buffered.Flush()
	config := w.config(n)
	var world *sim.World
	config.Trace = func(format string, args ...any) {
		fmt.Fprintf(buffered, "%14s "+format+"\n", append([]any{world.Now()}, args...)...)
	}
	world = sim.New(config)
	violation := world.Run()
	fmt.Fprintf(buffered, "world %d, hash %016x: ", n, world.Hash())
	if violation == "" {
		fmt.Fprintln(buffered, "no violation")
		return 0
	}
	fmt.Fprintln(buffered, violation)
	return 1
}

// Hashes runs the worlds on all cores of the machine. It prints for each world, in order,
// a hash of all its operations, and its violation.
func (w Worlds) Hashes(out io.Writer) {
	lines := make([]string, w.Count)
	var next atomic.Int64
	onEveryCore(env.System(), func() {
		for i := int(next.Add(1)) - 1; i < len(lines); i = int(next.Add(1)) - 1 {
			world := sim.New(w.config(w.First + i))
			violation := world.Run()
			lines[i] = strings.TrimSpace(fmt.Sprintf("world %d: %016x %s", w.First+i, world.Hash(), violation))
		}
	})
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
}

// Run runs the worlds on all cores of the machine. It prints the violations and how often
// each fault and behaviour occurred. With many worlds it also reports, as a violation, each
// behaviour that occurred too rarely to prove anything.
func (w Worlds) Run(out io.Writer) (violations int) {
	e := env.System()
	t := tally{worlds: w, out: out, next: w.First}
	start := e.Now()
	onEveryCore(e, t.work)
	t.total.Print(out)
	elapsed := e.Now().Sub(start)
	fmt.Fprintf(out, "%s, %.0f worlds a second\n", elapsed.Round(100*time.Millisecond), float64(t.total.Worlds)/elapsed.Seconds())
	fmt.Fprintf(out, "worlds=%d runs=%d faults=%d violations=%d\n", t.total.Worlds, t.total.Runs, t.total.Faults, t.violations)
	for _, complaint := range t.total.Tame() {
		t.violations++
		fmt.Fprintln(out, "too tame:", complaint)
	}
	return t.violations
}

// onEveryCore calls f as often as there are cores, concurrently. A panic ends the process.
func onEveryCore(e *env.Env, f func()) {
	group, _ := e.Group(context.Background())
	for range runtime.GOMAXPROCS(0) {
		group.Go(func(context.Context) error {
			f()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		panic(err)
	}
}

// tally is the outcome of many worlds. It is shared by those who run them.
type tally struct {
	worlds Worlds
	out    io.Writer

	mu         sync.Mutex // guards what follows
	next       int
	total      sim.Stats
	violations int
}

func (t *tally) work() {
	for n, ok := t.draw(); ok; n, ok = t.draw() {
		world := sim.New(t.worlds.config(n))
		violation := world.Run()
		t.note(n, world, violation)
	}
}

func (t *tally) draw() (n int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == t.worlds.First+t.worlds.Count || t.worlds.Stop && t.violations > 0 {
		return 0, false
	}
	t.next++
	return t.next - 1, true
}

func (t *tally) note(n int, world *sim.World, violation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Add(&world.Stats)
	if violation == "" {
		return
	}
	if t.violations++; t.violations <= t.worlds.Show {
		name, again := t.worlds.kind(n)
		fmt.Fprintf(t.out, "world %d (%s): %s\n\t%s\n", n, name, violation, again)
	}
}

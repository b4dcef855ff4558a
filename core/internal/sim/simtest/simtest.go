package simtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/agent"
)

// Options bound a run of worlds. The zero value is what [Run] does.
type Options struct {
	// Passings is how many of the passings of each I/O point are struck; 0: 12. A
	// scenario with many steps passes the same ones again and again.
	Passings int
	// MayBeLost names effects that may get lost although the state records them: no code
	// relies on them.
	MayBeLost []string
	// Seed is that of ids and of the pauses that the runtime draws; 0: 1.
	Seed uint64
	// Pairs plays each world again with each second fault after the first, at the points
	// that it passes then: some hundred times as many worlds.
	Pairs bool
}

const defaultPassings = 12

// World is what a world begins with.
type World struct {
	// Parts is called for each process of the world, and has to return fresh values:
	// what two processes share here, they do not share on two machines. Its models are
	// replaced, see [Scenario].
	Parts func() (agent.Parts, error)
	// Check tests the outside at the end, before the scenario's Check, and returns the
	// error; nil: no check.
	Check func(e Ended) error
}

// Run plays the scenarios with agents of the parts (see [World].Parts): first without
// faults, then with each fault at each I/O point that was passed, one world each. It fails
// the test for each mistake that it finds, and names it once: see the package's
// documentation. Values that parts keep in memory live as long as their process; for values
// that outlive it, see [RunWorlds].
func Run(t *testing.T, parts func() (agent.Parts, error), scenarios ...Scenario) {
	t.Helper()
	Options{}.Run(t, parts, scenarios...)
}

// RunWorlds is Run for parts that change something outside. world is called for each world,
// and makes the substitute for the outside there: it outlives the world's processes, which
// share it, and no other world has it.
func RunWorlds(t *testing.T, world func() World, scenarios ...Scenario) {
	t.Helper()
	Options{}.RunWorlds(t, world, scenarios...)
}

// Run is the function Run with other bounds.
func (o Options) Run(t *testing.T, parts func() (agent.Parts, error), scenarios ...Scenario) {
	t.Helper()
	o.RunWorlds(t, func() World { return World{Parts: parts} }, scenarios...)
}

// RunWorlds is the function RunWorlds with other bounds.
func (o Options) RunWorlds(t *testing.T, world func() World, scenarios ...Scenario) {
	t.Helper()
	if o.Passings == 0 {
		o.Passings = defaultPassings
	}
	o.Seed = max(o.Seed, 1)
	if err := check(scenarios); err != nil {
		t.Fatal(err)
	}
	cast, err := newCast(world)
	if err != nil {
		t.Fatalf("the parts: %v", err)
	}
	if told(t, cast, scenarios) {
		return
	}
	began := time.Now()
	suite := suite{options: o, cast: cast, told: map[string]bool{}}
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { suite.play(t, s) })
	}
	took := time.Since(began)
	t.Logf("%d worlds in %s, %.0f a second", suite.worlds, took.Round(time.Millisecond), float64(suite.worlds)/took.Seconds())
}

// suite is one Run.
type suite struct {
	options Options
	cast    cast
	told    map[string]bool // mistakes, by kind and name
	worlds  int
	report  func(t *testing.T, m mistake, world string) // nil: the test fails
}

// shift is how far the other clock is ahead: another year, day of the week, hour,
// minute and second.
const shift = 401*24*time.Hour + 5*time.Hour + 17*time.Minute + 13*time.Second + 123456789*time.Nanosecond

// play plays the worlds of a scenario.
func (u *suite) play(t *testing.T, s Scenario) {
	clean := u.world(t, s)
	if len(clean.problems) > 0 {
		u.reportOnce(t, mistake{kindWorld, clean.problems[0], "without any fault: " + strings.Join(clean.problems, "; ")}, "no fault")
		return
	}
	pure := u.pure(t, s, clean)
	for _, at := range clean.sites {
		if at.n > u.options.Passings {
			continue
		}
		t.Run(at.String(), func(t *testing.T) {
			for _, fault := range faults(at.point) {
				t.Run(string(fault), func(t *testing.T) { u.strike(t, s, clean, pure, strike{at, fault}) })
			}
		})
	}
}

// strike plays a world with a fault, and, for pairs, those with another one after it.
func (u *suite) strike(t *testing.T, s Scenario, clean outcome, pure bool, first strike) {
	out := u.world(t, s, first)
	for _, m := range out.mistakes(clean, s, u.options.MayBeLost, pure, first) {
		u.reportOnce(t, m, first.String())
	}
	if !u.options.Pairs {
		return
	}
	behind := false
	for _, at := range out.sites {
		if at == first.site {
			behind = true
		}
		if !behind || at.n > u.options.Passings {
			continue
		}
		for _, fault := range faults(at.point) {
			second := strike{at, fault}
			if at == first.site && !second.behind(first) {
				continue
			}
			t.Run(second.String(), func(t *testing.T) {
				for _, m := range u.world(t, s, first, second).mistakes(clean, s, u.options.MayBeLost, pure, first, second) {
					u.reportOnce(t, m, first.String()+" and "+second.String())
				}
			})
		}
	}
}

// behind reports whether the fault strikes the same passing of a point later.
func (s strike) behind(first strike) bool {
	return first.fault != CrashBefore && first.fault != CrashAfter && first.fault != PauseAfter && (s.fault == CrashAfter || s.fault == PauseAfter)
}

// world plays one world.
func (u *suite) world(t *testing.T, s Scenario, strikes ...strike) outcome {
	u.worlds++
	w := newWorld(s, u.cast, strikes...)
	w.seed = u.options.Seed
	return w.play(t)
}

// pure plays the scenario again, and under another clock. It reports whether all three
// worlds are the same.
func (u *suite) pure(t *testing.T, s Scenario, clean outcome) bool {
	second := u.world(t, s)
	u.worlds++
	ahead := newWorld(s, u.cast)
	ahead.seed, ahead.shift = u.options.Seed, shift
	shifted := ahead.play(t)
	found := impure(clean.transcript, second.transcript, shifted.transcript, shift, func() (a, b transcript, ok bool) { return fresh(t, s.Name) })
	for _, m := range found {
		u.reportOnce(t, m, "no fault")
	}
	return slices.Equal(clean.Log, second.Log) && slices.Equal(clean.Log, shifted.Log)
}

// reportOnce names a mistake, unless it was named before.
func (u *suite) reportOnce(t *testing.T, m mistake, world string) {
	t.Helper()
	name := string(m.kind) + "\n" + m.name
	if u.told[name] {
		return
	}
	u.told[name] = true
	if u.report != nil {
		u.report(t, m, world)
		return
	}
	t.Error(m.line(world, u.options.Seed, t.Name()))
}

// line is the report of a mistake: its kind, the world that shows it, and the command for
// that world alone.
func (m mistake) line(world string, seed uint64, test string) string {
	return fmt.Sprintf("%s: %s\n\tseen with: %s, seed %d\n\trepeat this world: go test -run '%s'", m.kind, m.text, world, seed, pattern(test))
}

// pattern is the -run of one subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = fmt.Sprintf("^%s$", p)
	}
	return strings.Join(parts, "/")
}

package reveilletest

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/sim/simtest"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/reveille"
)

// Crashes runs scenarios with each fault at each I/O operation. Scenarios and one of Parts and
// World are required.
type Crashes struct {
	// Parts is called once for each process and returns fresh parts: two processes must not
	// share values that two machines would not share. Its models are replaced, see [Scenario].
	Parts func() (reveille.Parts, error)
	// World replaces Parts if the parts change something outside. It is called once for each
	// simulated run, and makes the values that outlive the processes, such as a bank that tools
	// book at.
	World     func() World
	Scenarios []Scenario

	Passings  int      // maximum number of faults at each operation; 0: 12
	MayBeLost []string // effects that may be lost although the state records them
	Seed      uint64   // of ids and pauses; 0: 1
	Pairs     bool     // combines each fault with a second one that follows it: some hundred times as many simulated runs
}

// Run fails the test once for each mistake, with the earliest simulated run that shows it.
func (c Crashes) Run(t *testing.T) {
	t.Helper()
	world := c.World
	switch {
	case len(c.Scenarios) == 0:
		t.Fatal("reveilletest.Crashes: there are no Scenarios")
	case (c.Parts == nil) == (world == nil):
		t.Fatal("reveilletest.Crashes: want one of Parts and World")
	case world == nil:
		world = func() World { return World{Parts: c.Parts} }
	}
	simtest.Options{Passings: c.Passings, MayBeLost: c.MayBeLost, Seed: c.Seed, Pairs: c.Pairs}.RunWorlds(t, withDelegates(world), c.Scenarios...)
}

// withDelegates returns worlds whose agents have the tools for their delegates, as in
// [reveille.New].
func withDelegates(world func() World) func() World {
	return func() World {
		w := world()
		if parts := w.Parts; parts != nil {
			w.Parts = func() (reveille.Parts, error) {
				p, err := parts()
				return delegate.In(p), err
			}
		}
		return w
	}
}

type (
	// World is the start of a simulated run: the Parts of its processes, and a Check of the
	// state outside.
	World = simtest.World
	// Scenario lists the acts of a person in one thread. The model follows its Turns, or else
	// the rules of [Rules].
	Scenario = simtest.Scenario
	// Ended is the outcome of a simulated run, for checks.
	Ended = simtest.Ended
	// Act is one action of a person.
	Act = simtest.Act
)

// Say sends a message once nothing runs.
func Say(text string) Act { return simtest.Say(text) }

// Approve lets the first waiting call run.
func Approve() Act { return simtest.Approve() }

// Deny refuses the first waiting call. The model reads the reason.
func Deny(reason string) Act { return simtest.Deny(reason) }

// Reply resumes the first waiting call with a JSON payload.
func Reply(payload string) Act { return simtest.Reply(payload) }

// Cancel ends the run that is running or waiting. Its While method does so during a call.
func Cancel() Act { return simtest.Cancel() }

// Steer sends a message to the running run, which reads it at its next step.
func Steer(text string) Act { return simtest.Steer(text) }

// Interrupt ends the run, and sends a message that opens another one.
func Interrupt(text string) Act { return simtest.Interrupt(text) }

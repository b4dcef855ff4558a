package reveilletest

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/sim/simtest"
	"github.com/reveille-run/reveille/core/reveille"
)

// Crashes plays scenarios through each fault at each I/O operation. Scenarios and one of
// Parts and World are required.
type Crashes struct {
	// Parts is called for each process, and returns fresh parts: what two processes share
	// here, they would not share on two machines. Its models are replaced, see [Scenario].
	Parts func() (reveille.Parts, error)
	// World is called for each world in place of Parts, for parts that change something
	// outside: it makes what outlives the processes, such as a bank that tools book at.
	World     func() World
	Scenarios []Scenario

	Passings  int      // how often each operation is struck at most; 0: 12
	MayBeLost []string // effects that may get lost although the state says that they happened
	Seed      uint64   // of ids and pauses; 0: 1
	Pairs     bool     // each fault again with each second one behind it: some hundred times as many worlds
}

// Run fails the test for each mistake, once each, with the earliest world that shows it.
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
	simtest.Options{Passings: c.Passings, MayBeLost: c.MayBeLost, Seed: c.Seed, Pairs: c.Pairs}.RunWorlds(t, world, c.Scenarios...)
}

type (
	// World is what a world begins with: the Parts of its processes, and a Check of what is
	// outside.
	World = simtest.World
	// Scenario is what people do with an agent in one thread. The model follows its Turns,
	// or else the rules of [Rules].
	Scenario = simtest.Scenario
	// Ended is what a world came to, for checks.
	Ended = simtest.Ended
	// Act is one thing that a person does.
	Act = simtest.Act
)

// Say sends a message when nothing runs any more.
func Say(text string) Act { return simtest.Say(text) }

// Approve lets the first call run that waits for a decision.
func Approve() Act { return simtest.Approve() }

// Deny refuses the first call that waits for a decision. The model reads the reason.
func Deny(reason string) Act { return simtest.Deny(reason) }

// Reply resumes the first call that waits with a payload, JSON.
func Reply(payload string) Act { return simtest.Reply(payload) }

// Cancel ends the run that is running or waiting. Its While method does so during a call.
func Cancel() Act { return simtest.Cancel() }

// Steer sends a message to the running run, which reads it at its next step.
func Steer(text string) Act { return simtest.Steer(text) }

// Interrupt ends the run, and sends a message that opens another one.
func Interrupt(text string) Act { return simtest.Interrupt(text) }

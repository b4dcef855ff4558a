package run

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Observer counts the work of the steps of a process: everything that its writes
// have made visible, once each, even if another process generated or ran it before.
// It is called in the step's goroutine, which waits for it, right after the write;
// a crash in between loses it. It keeps no value that it receives, and does not
// panic.
type Observer interface {
	// Logged is called with records of a run's log: input, turns, results, step records.
	Logged(agent string, entries []thread.Entry)
	// Stepped is called when a step is over, with the time that this process took
	// for it since it took it up: a step that has waited counts from where it
	// resumed.
	Stepped(agent string, took time.Duration)
	// Ended is called when a run is done, and each time that it starts to wait.
	Ended(run core.Run)
	// Reported is called once for each call of Step, when it is over, also if it has
	// failed: its contents have happened, even if the write of the step was refused.
	Reported(d StepReport)
}

// StepReport is what operators count of one call of Step.
type StepReport struct {
	Key core.ThreadKey
	// Run has the id, and the agent as far as it is known. If Ended is true it is the
	// whole run, which is done or has started to wait by a write of the step.
	Run   core.Run
	Ended bool
	// Late is how long the run was due before the claim took it, see [thread.Head.Late].
	Late time.Duration
	// Failures are the calls of models that have failed in the step, oldest first:
	// those that were made again too.
	Failures []ModelFailure
}

// ModelFailure is a call of a model that has failed.
type ModelFailure struct {
	Provider string
	Model    string // the provider's name of it
	Kind     string // a model.ErrorKind
}

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
}

package run

import "github.com/reveille-run/reveille/core"

// Sink takes the events of a run as they happen. An error means that nobody
// listens any more: the run goes on, and the sink is not called again.
type Sink func(core.Event) error

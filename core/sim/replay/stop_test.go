package replay_test

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/stop"
)

// stopsAfterOne is a policy that the recorded runs did not have.
var stopsAfterOne = []run.StopCheck{func(_ *agent.Resolved, step int, turn core.Message, usage core.Usage) *core.Termination {
	return stop.MaxRounds(1).Check(stop.Turn{Step: step, Message: turn, Usage: usage})
}}

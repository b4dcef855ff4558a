package replay_test

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/stop"
)

// stopsAfterOne is a policy that the recorded runs did not have.
var stopsAfterOne = []stop.Policy{stop.Func(func(v stop.View) *core.Termination { return stop.MaxRounds(1).Check(v) })}

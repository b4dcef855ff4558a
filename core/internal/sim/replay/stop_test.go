package replay_test

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

// stopsAfterOne is a policy that the recorded runs did not have.
var stopsAfterOne = []agent.StopPolicy{agent.StopFunc(func(v agent.StopView) *core.Termination {
	if !v.GoesOn() {
		return nil
	}
	return &core.Termination{Type: core.TerminationStopped, Code: agent.StopMaxRounds, Detail: "one step is enough"}
})}

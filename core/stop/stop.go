package stop

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Turn is a committed turn of the model.
type Turn struct {
	Step    int // from 1
	Message core.Message
	Usage   core.Usage // of the whole run, this turn included
}

// Policy judges a turn. It keeps no state and is safe for concurrent use.
type Policy interface {
	// Check returns how the run ends, or nil when it goes on.
	Check(turn Turn) *core.Termination
}

// First returns what the first policy that ends the run says, else nil.
func First(policies []Policy, turn Turn) *core.Termination {
	for _, p := range policies {
		if t := p.Check(turn); t != nil {
			return t
		}
	}
	return nil
}

// CodeMaxRounds is the termination code of [MaxRounds].
const CodeMaxRounds = "max_rounds"

// MaxRounds stops a run at a turn that asks for tools once n steps are used up.
// A turn without tool calls ends the run by itself and is never stopped. With
// n 0 (or less) it never stops.
func MaxRounds(n int) Policy { return maxRounds(n) }

type maxRounds int

// Check implements Policy.
func (n maxRounds) Check(turn Turn) *core.Termination {
	if n <= 0 || turn.Step < int(n) || len(turn.Message.ToolCalls) == 0 {
		return nil
	}
	return &core.Termination{
		Type:   core.TerminationStopped,
		Code:   CodeMaxRounds,
		Detail: fmt.Sprintf("step %d of at most %d still asked for tools", turn.Step, int(n)),
	}
}

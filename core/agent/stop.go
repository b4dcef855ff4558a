package agent

import (
	"time"

	"github.com/reveille-run/reveille/core"
)

// StopView is a policy's view of a run, in one of its steps. All of it follows from stored
// values, so that every process that judges the same step sees the same. Its slices are
// shared and must not be changed.
type StopView struct {
	Now       time.Time // when the turn was complete, or the model had failed permanently
	StartedAt time.Time // when the run's first step started; zero when that is lost
	Step      int       // from 1

	// Turn is the response of the model. It is empty in a step without a turn, and Failed
	// is then the kind of the failure, such as "overloaded"; "" when there is a turn.
	Turn   core.Message
	Failed string
	// Mends reports that the turn is an answer without the form that the run requires, and
	// that the model will correct it in another step.
	Mends bool

	Usage core.Usage // of the whole run, this step included

	// Turns are the run's messages before Turn, oldest first: its input, turns and
	// results, as far back as the window has them.
	Turns []core.Message

	// ErrorSteps is how many steps in a row have failed up to here: the model did,
	// or a call of the turn and none has succeeded; one that a person refused or
	// cancelled has done neither. While the turn's calls have not run yet, its own
	// step is not among them; a turn without calls makes it 0.
	ErrorSteps int

	// Calls and Texts have an element for each of the newest turns, at most 64, the oldest
	// first and Turn last: fingerprints of its calls, arguments included, and of its text.
	// 0 means no calls and no text. Equal turns have equal ones; others too, once in 4
	// billion pairs.
	Calls []uint32
	Texts []uint32
}

// GoesOn reports whether the run continues after the step unless a policy stops it: the
// turn has calls or is to be corrected, or the model has failed and is called again. Else
// the run ends naturally.
func (v StopView) GoesOn() bool { return v.Failed != "" || v.Mends || len(v.Turn.ToolCalls) > 0 }

// StopPolicy judges a step of a run. It keeps no state, reads no clock and is safe
// for concurrent use: the same view has the same verdict in every process.
type StopPolicy interface {
	// Check returns how the run ends, or nil when it continues: a Code for programs and a
	// Detail for people. Clients see both; 64 bytes of the code are kept, and 4 KiB of the
	// detail. A termination without a type is one of type stopped; cancelled, suspended and
	// superseded are the runtime's, and end the run with the error stop_policy.
	Check(StopView) *core.Termination
}

// StopFunc is a policy that is a function. It must not be nil.
type StopFunc func(StopView) *core.Termination

// Check implements StopPolicy.
func (f StopFunc) Check(v StopView) *core.Termination { return f(v) }

// stopped is the verdict that ends a run. The code is for programs, the detail for people:
// clients see both.
func stopped(code, detail string) *core.Termination {
	return &core.Termination{Type: core.TerminationStopped, Code: code, Detail: detail}
}

// StopTolerant is a policy that judges failures of the model itself. In a run that has one,
// a step whose inference failed after all retries, or permanently, does not end the run
// with an error. It is logged as a failed step, the policies judge it, and the next step
// calls the model again. The type consecutive_errors of a [StopSpec] is one.
//
// Two failures end the run anyway: a provider that asks for a pause of more than 5 minutes
// (rate_limited), and every failure that is not the model's.
type StopTolerant interface {
	StopPolicy
	// ToleratesFailures reports whether the policy judges failures of the model.
	ToleratesFailures() bool
}

package agent

import (
	"time"

	"github.com/reveille-run/reveille/core"
)

// StopView is what a policy sees of a run, in one of its steps. All of it follows from
// what is stored, so that whoever judges the same step sees the same. Its slices
// are shared and must not be changed.
type StopView struct {
	Now       time.Time // when the model had said the turn, or had failed for good
	StartedAt time.Time // when the run's first step began; zero when that is lost
	Step      int       // from 1

	// Turn is what the model said. It is empty in a step without a turn, and Failed
	// is then the kind of the failure, such as "overloaded"; "" when there is a turn.
	Turn   core.Message
	Failed string
	// Mends says that the turn is an answer which is not of the form that the run has
	// to come to, and which the model is to mend in another step.
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

	// Calls and Texts have an element for each of the newest turns, at most 64, the
	// oldest first and Turn last: fingerprints of what it called, arguments included,
	// and of its text. 0 stands for no calls and for no text. Equal turns have equal
	// ones; others too, once in 4 billion pairs.
	Calls []uint32
	Texts []uint32
}

// GoesOn reports whether the run goes on after the step unless a policy stops
// it: the turn has calls or is to be mended, or the model has failed and is asked again.
// Else the run comes to its natural end.
func (v StopView) GoesOn() bool { return v.Failed != "" || v.Mends || len(v.Turn.ToolCalls) > 0 }

// StopPolicy judges a step of a run. It keeps no state, reads no clock and is safe
// for concurrent use: the same view has the same verdict in every process.
type StopPolicy interface {
	// Check returns how the run ends, or nil when it goes on: a Code for programs and a
	// Detail for people. Clients are shown both; of the code 64 bytes are kept, of the
	// detail 4 KiB. A termination without a type is one of type stopped; cancelled,
	// suspended and superseded are the runtime's, and end the run with the error
	// stop_policy.
	Check(StopView) *core.Termination
}

// StopFunc is a policy that is a function. It must not be nil.
type StopFunc func(StopView) *core.Termination

// Check implements StopPolicy.
func (f StopFunc) Check(v StopView) *core.Termination { return f(v) }

// stopped is the verdict that ends a run. The code is for programs, the detail for
// people: clients are shown both.
func stopped(code, detail string) *core.Termination {
	return &core.Termination{Type: core.TerminationStopped, Code: code, Detail: detail}
}

// StopTolerant is a policy that judges failures of the model itself: in a run that has
// one, a step whose inference failed after all retries, or for good, does not end
// the run with an error. It is logged as a failed step, the policies are asked, and
// the next step asks the model again. The type consecutive_errors of a [StopSpec] is one.
//
// Two failures end the run all the same: a provider that asks for a pause of more
// than 5 minutes (rate_limited), and whatever is not the model's.
type StopTolerant interface {
	StopPolicy
	// ToleratesFailures reports whether failures of the model are left to the policy.
	ToleratesFailures() bool
}

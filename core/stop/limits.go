package stop

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
)

// The termination codes of the policies of this package, which are also the
// types of a [Spec].
const (
	CodeMaxRounds         = "max_rounds"
	CodeTimeout           = "timeout"
	CodeTokenBudget       = "token_budget"
	CodeConsecutiveErrors = "consecutive_errors"
	CodeStopOnTool        = "stop_on_tool"
	CodeContentMatch      = "content_match"
	CodeLoopDetection     = "loop_detection"
)

// MaxRounds stops a run that would go on once n steps are used up. A turn without
// calls is never stopped. With n 0 or less it never stops.
func MaxRounds(n int) Policy { return maxRounds(n) }

type maxRounds int

// Check implements Policy.
func (n maxRounds) Check(v View) *core.Termination {
	switch {
	case n <= 0 || v.Step < int(n) || !v.GoesOn():
		return nil
	case v.Failed != "":
		return Stop(CodeMaxRounds, fmt.Sprintf("step %d of at most %d failed", v.Step, int(n)))
	case v.Mends:
		return Stop(CodeMaxRounds, fmt.Sprintf("step %d of at most %d gave no answer that can be used", v.Step, int(n)))
	}
	return Stop(CodeMaxRounds, fmt.Sprintf("step %d of at most %d still asked for tools", v.Step, int(n)))
}

func (maxRounds) String() string { return CodeMaxRounds }

// Timeout stops a run that would go on once more than d has gone by since its first
// step began. Time that it waited for a person or in the queue counts. A turn
// without calls is never stopped: an answer that comes late is an answer. Nothing
// is interrupted: a model or tool that takes longer is stopped behind it. With d 0
// or less it never stops.
func Timeout(d time.Duration) Policy { return timeout(d) }

type timeout time.Duration

// Check implements Policy.
func (d timeout) Check(v View) *core.Termination {
	took, most := v.Now.Sub(v.StartedAt), time.Duration(d)
	if most <= 0 || v.StartedAt.IsZero() || took <= most || !v.GoesOn() {
		return nil
	}
	return Stop(CodeTimeout, fmt.Sprintf("the run has taken %s, at most %s are allowed", took.Round(time.Millisecond), most))
}

func (timeout) String() string { return CodeTimeout }

// TokenBudget stops a run that would go on once it has used more than n tokens,
// input and output together, those of failed model calls included as far as they
// are known. A turn without calls is never stopped. With n 0 or less it never
// stops.
func TokenBudget(n int) Policy { return tokenBudget(n) }

type tokenBudget int

// Check implements Policy.
func (n tokenBudget) Check(v View) *core.Termination {
	used := v.Usage.Input + v.Usage.Output
	if n <= 0 || used <= int(n) || !v.GoesOn() {
		return nil
	}
	return Stop(CodeTokenBudget, fmt.Sprintf("the run has used %d tokens, at most %d are allowed", used, int(n)))
}

func (tokenBudget) String() string { return CodeTokenBudget }

// ConsecutiveErrors stops a run when n steps in a row have failed: the model did
// (after its retries, or for good), or the turn's calls: one has failed and none
// has succeeded, those apart that a person refused or cancelled. It is [Tolerant]:
// with it a model that fails costs the run a step and not its life. Any other step
// begins the count anew. With n 0 or less it does nothing at all.
func ConsecutiveErrors(n int) Policy { return consecutiveErrors(n) }

type consecutiveErrors int

// Check implements Policy.
func (n consecutiveErrors) Check(v View) *core.Termination {
	if n <= 0 || v.ErrorSteps < int(n) {
		return nil
	}
	return Stop(CodeConsecutiveErrors, fmt.Sprintf("failed steps in a row: %d, the limit is %d", v.ErrorSteps, int(n)))
}

// ToleratesFailures implements Tolerant.
func (n consecutiveErrors) ToleratesFailures() bool { return n > 0 }

func (consecutiveErrors) String() string { return CodeConsecutiveErrors }

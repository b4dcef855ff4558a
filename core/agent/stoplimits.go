package agent

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
)

// The types of a [StopSpec], which are the codes of its terminations, too.
const (
	StopMaxRounds         = "max_rounds"
	StopTimeout           = "timeout"
	StopTokenBudget       = "token_budget"
	StopConsecutiveErrors = "consecutive_errors"
	StopOnTool            = "stop_on_tool"
	StopContentMatch      = "content_match"
	StopLoopDetection     = "loop_detection"
)

// maxRounds stops a run that would go on once n steps are used up. A turn without
// calls is never stopped. With n 0 or less it never stops.
type maxRounds int

// Check implements StopPolicy.
func (n maxRounds) Check(v StopView) *core.Termination {
	switch {
	case n <= 0 || v.Step < int(n) || !v.GoesOn():
		return nil
	case v.Failed != "":
		return stopped(StopMaxRounds, fmt.Sprintf("step %d of at most %d failed", v.Step, int(n)))
	case v.Mends:
		return stopped(StopMaxRounds, fmt.Sprintf("step %d of at most %d gave no answer that can be used", v.Step, int(n)))
	}
	return stopped(StopMaxRounds, fmt.Sprintf("step %d of at most %d still asked for tools", v.Step, int(n)))
}

func (maxRounds) String() string { return StopMaxRounds }

// timeout stops a run that would continue once more than d has passed since its first step
// started. Time in which it waited for a person or in the queue counts. A turn without
// calls is never stopped: an answer that comes late is an answer. Nothing is interrupted: a
// model or tool that takes longer is stopped afterwards. With d 0 or less it never stops.
type timeout time.Duration

// Check implements StopPolicy.
func (d timeout) Check(v StopView) *core.Termination {
	took, most := v.Now.Sub(v.StartedAt), time.Duration(d)
	if most <= 0 || v.StartedAt.IsZero() || took <= most || !v.GoesOn() {
		return nil
	}
	return stopped(StopTimeout, fmt.Sprintf("the run has taken %s, at most %s are allowed", took.Round(time.Millisecond), most))
}

func (timeout) String() string { return StopTimeout }

// tokenBudget stops a run that would continue once it has used more than n tokens. It
// counts input and output together, and the known usage of failed model calls. A turn
// without calls is never stopped. With n 0 or less it never stops.
type tokenBudget int

// Check implements StopPolicy.
func (n tokenBudget) Check(v StopView) *core.Termination {
	used := v.Usage.Input + v.Usage.Output
	if n <= 0 || used <= int(n) || !v.GoesOn() {
		return nil
	}
	return stopped(StopTokenBudget, fmt.Sprintf("the run has used %d tokens, at most %d are allowed", used, int(n)))
}

func (tokenBudget) String() string { return StopTokenBudget }

// consecutiveErrors stops a run when n steps in a row have failed. A step fails if its
// model did (after its retries, or permanently), or if one of its calls has failed and none
// has succeeded, without those that a person refused or cancelled. It is a [StopTolerant]:
// with it a model that fails costs the run a step and does not end it. Any other step
// restarts the count. With n 0 or less it does nothing at all.
type consecutiveErrors int

// Check implements StopPolicy.
func (n consecutiveErrors) Check(v StopView) *core.Termination {
	if n <= 0 || v.ErrorSteps < int(n) {
		return nil
	}
	return stopped(StopConsecutiveErrors, fmt.Sprintf("failed steps in a row: %d, the limit is %d", v.ErrorSteps, int(n)))
}

// ToleratesFailures implements StopTolerant.
func (n consecutiveErrors) ToleratesFailures() bool { return n > 0 }

func (consecutiveErrors) String() string { return StopConsecutiveErrors }

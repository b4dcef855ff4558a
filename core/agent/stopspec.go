package agent

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
)

// StopSpec is a policy as data, in the list stop of an agent's spec. Type names the policy,
// and determines which one of the other fields it takes:
//
//	{"type": "max_rounds", "rounds": 8}
//	{"type": "timeout", "seconds": 30}
//	{"type": "token_budget", "max_total": 20000}
//	{"type": "consecutive_errors", "max": 3}
//	{"type": "stop_on_tool", "tool_name": "done"}
//	{"type": "content_match", "pattern": "(?i)task complete"}
//	{"type": "loop_detection", "window": 3}
type StopSpec struct {
	Type     string `json:"type"`                // also the code of its terminations
	Rounds   int    `json:"rounds,omitempty"`    // max_rounds: steps of a run, 1 or more
	Seconds  int    `json:"seconds,omitempty"`   // timeout: since the start of the run's first step, 1 or more
	MaxTotal int    `json:"max_total,omitempty"` // token_budget: tokens, input and output together, 1 or more
	Max      int    `json:"max,omitempty"`       // consecutive_errors: failed steps in a row, 1 or more
	ToolName string `json:"tool_name,omitempty"` // stop_on_tool
	Pattern  string `json:"pattern,omitempty"`   // content_match: a regular expression, RE2, a search, up to 1 KiB
	Window   int    `json:"window,omitempty"`    // loop_detection: turns, 2 to 64
}

// stopTypes are the known types, in the order of the manual.
func stopTypes() []string {
	return []string{StopMaxRounds, StopTimeout, StopTokenBudget, StopConsecutiveErrors, StopOnTool, StopContentMatch, StopLoopDetection}
}

// Check validates the spec. The error has code invalid and names the type and the
// field.
func (s StopSpec) Check() error {
	_, err := s.Policy()
	return err
}

// Policy makes the policy that the spec describes; errors as for Check.
func (s StopSpec) Policy() (StopPolicy, error) {
	field, ok := fieldOf[s.Type]
	if !ok {
		return nil, core.Errorf(core.CodeInvalid, "stop policy type %q is unknown, allowed are %s", core.Excerpt(s.Type), strings.Join(stopTypes(), ", "))
	}
	for _, given := range s.given() {
		if given != field {
			return nil, s.invalid("it takes %s, and not %s", field, given)
		}
	}
	switch s.Type {
	case StopMaxRounds:
		return s.count(s.Rounds, maxRounds(s.Rounds))
	case StopTimeout:
		return s.count(s.Seconds, timeout(time.Duration(s.Seconds)*time.Second))
	case StopTokenBudget:
		return s.count(s.MaxTotal, tokenBudget(s.MaxTotal))
	case StopConsecutiveErrors:
		return s.count(s.Max, consecutiveErrors(s.Max))
	case StopOnTool:
		if s.ToolName == "" {
			return nil, s.invalid("tool_name is empty")
		}
		return stopOnTool(s.ToolName), nil
	case StopContentMatch:
		return newContentMatch(s.Pattern)
	}
	return newLoopDetection(s.Window)
}

// maxCount bounds a field that counts.
const maxCount = math.MaxInt32

// count returns the policy of a type that takes a number.
func (s StopSpec) count(n int, p StopPolicy) (StopPolicy, error) {
	if n < 1 || n > maxCount {
		return nil, s.invalid("%s is %d, allowed are 1 to %d", fieldOf[s.Type], n, maxCount)
	}
	return p, nil
}

// fieldOf is the field that a type takes.
var fieldOf = map[string]string{
	StopMaxRounds: "rounds", StopTimeout: "seconds", StopTokenBudget: "max_total", StopConsecutiveErrors: "max",
	StopOnTool: "tool_name", StopContentMatch: "pattern", StopLoopDetection: "window",
}

// given are the fields that have a value.
func (s StopSpec) given() []string {
	all := []struct {
		name string
		set  bool
	}{
		{"rounds", s.Rounds != 0}, {"seconds", s.Seconds != 0}, {"max_total", s.MaxTotal != 0}, {"max", s.Max != 0},
		{"tool_name", s.ToolName != ""}, {"pattern", s.Pattern != ""}, {"window", s.Window != 0},
	}
	var names []string
	for _, f := range all {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

func (s StopSpec) invalid(format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "stop policy %q: %s", s.Type, fmt.Sprintf(format, args...))
}

// StopPolicies makes the policies of the spec's Stop, in its order. The error has code
// invalid and names the place in the list.
func (s Spec) StopPolicies() ([]StopPolicy, error) {
	policies := make([]StopPolicy, 0, len(s.Stop))
	for i, one := range s.Stop {
		p, err := one.Policy()
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "stop[%d]: %w", i, err)
		}
		policies = append(policies, p)
	}
	return policies, nil
}

package stop

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// Spec is a policy as data, in the list stop of an agent's spec. Type says which
// policy it is, and which one of the other fields it takes:
//
//	{"type": "max_rounds", "rounds": 8}
//	{"type": "timeout", "seconds": 30}
//	{"type": "token_budget", "max_total": 20000}
//	{"type": "consecutive_errors", "max": 3}
//	{"type": "stop_on_tool", "tool_name": "done"}
//	{"type": "content_match", "pattern": "(?i)task complete"}
//	{"type": "loop_detection", "window": 3}
type Spec struct {
	Type     Type   `json:"type"`
	Rounds   int    `json:"rounds,omitempty"`    // max_rounds: steps of a run, 1 or more
	Seconds  int    `json:"seconds,omitempty"`   // timeout: since the run's first step began, 1 or more
	MaxTotal int    `json:"max_total,omitempty"` // token_budget: tokens, input and output together, 1 or more
	Max      int    `json:"max,omitempty"`       // consecutive_errors: failed steps in a row, 1 or more
	ToolName string `json:"tool_name,omitempty"` // stop_on_tool
	Pattern  string `json:"pattern,omitempty"`   // content_match: a regular expression, see [ContentMatch]
	Window   int    `json:"window,omitempty"`    // loop_detection: turns, 2 to 64
}

// Type names a policy in a [Spec]; it is the code of its terminations, too.
type Type string

// Types returns the known types, in the order of the manual.
func Types() []Type {
	return []Type{CodeMaxRounds, CodeTimeout, CodeTokenBudget, CodeConsecutiveErrors, CodeStopOnTool, CodeContentMatch, CodeLoopDetection}
}

// DecodeSpec reads one spec from JSON, strictly: an unknown field is an error that
// names it, and so is whatever [Spec.Check] refuses. Errors have code invalid. The
// decoder of an agent's spec is as strict.
func DecodeSpec(data []byte) (Spec, error) {
	var s Spec
	if err := strict.Decode(data, &s); err != nil {
		return Spec{}, core.Errorf(core.CodeInvalid, "stop policy: %w", err)
	}
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// Check validates the spec. The error has code invalid and names the type and the
// field.
func (s Spec) Check() error {
	_, err := s.Policy()
	return err
}

// Policy makes the policy that the spec describes; errors as for Check.
func (s Spec) Policy() (Policy, error) {
	field, ok := fieldOf[s.Type]
	if !ok {
		var known []string
		for _, t := range Types() {
			known = append(known, string(t))
		}
		return nil, core.Errorf(core.CodeInvalid, "stop policy type %q is unknown, allowed are %s", core.Excerpt(string(s.Type)), strings.Join(known, ", "))
	}
	for _, given := range s.given() {
		if given != field {
			return nil, s.invalid("it takes %s, and not %s", field, given)
		}
	}
	switch s.Type {
	case CodeMaxRounds:
		return s.count(s.Rounds, MaxRounds(s.Rounds))
	case CodeTimeout:
		return s.count(s.Seconds, Timeout(time.Duration(s.Seconds)*time.Second))
	case CodeTokenBudget:
		return s.count(s.MaxTotal, TokenBudget(s.MaxTotal))
	case CodeConsecutiveErrors:
		return s.count(s.Max, ConsecutiveErrors(s.Max))
	case CodeStopOnTool:
		if s.ToolName == "" {
			return nil, s.invalid("tool_name is empty")
		}
		return StopOnTool(s.ToolName), nil
	case CodeContentMatch:
		return ContentMatch(s.Pattern)
	}
	return LoopDetection(s.Window)
}

// maxCount bounds a field that counts.
const maxCount = math.MaxInt32

// count returns the policy of a type that takes a number.
func (s Spec) count(n int, p Policy) (Policy, error) {
	if n < 1 || n > maxCount {
		return nil, s.invalid("%s is %d, allowed are 1 to %d", fieldOf[s.Type], n, maxCount)
	}
	return p, nil
}

// fieldOf is the field that a type takes.
var fieldOf = map[Type]string{
	CodeMaxRounds: "rounds", CodeTimeout: "seconds", CodeTokenBudget: "max_total", CodeConsecutiveErrors: "max",
	CodeStopOnTool: "tool_name", CodeContentMatch: "pattern", CodeLoopDetection: "window",
}

// given are the fields that have a value.
func (s Spec) given() []string {
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

func (s Spec) invalid(format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "stop policy %q: %s", s.Type, fmt.Sprintf(format, args...))
}

// Policies makes the policies of a list of specs, in its order. The error has code
// invalid and names the place in the list.
func Policies(specs []Spec) ([]Policy, error) {
	policies := make([]Policy, 0, len(specs))
	for i, s := range specs {
		p, err := s.Policy()
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "stop[%d]: %w", i, err)
		}
		policies = append(policies, p)
	}
	return policies, nil
}

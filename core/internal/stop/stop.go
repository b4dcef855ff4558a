// Package stop holds what the registry of agents, runs and the runtime do with lists of
// stop policies. The policies themselves are package agent's.
package stop

import (
	"fmt"
	"reflect"

	"github.com/reveille-run/reveille/core"
)

// CheckAll refuses a policy that is nil, or a nil function; list names the policies
// in the error, which has code invalid.
func CheckAll[P any](list string, policies []P) error {
	for i, p := range policies {
		if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Func && v.IsNil() {
			return core.Errorf(core.CodeInvalid, "stop policy %s[%d] is nil", list, i)
		}
	}
	return nil
}

// Tolerates reports whether one of the policies leaves failures of the model to itself,
// see agent.StopTolerant.
func Tolerates[P any](policies []P) bool {
	for _, p := range policies {
		if t, ok := any(p).(interface{ ToleratesFailures() bool }); ok && t.ToleratesFailures() {
			return true
		}
	}
	return false
}

// Name is what a policy is called in errors and logs: what its String method
// returns, else its type.
func Name(policy any) string {
	if s, ok := policy.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", policy)
}

package engine

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// FailedError is a hook, a gate or a handler of a plugin that has failed, or has asked for
// what cannot be done. The name of the plugin is the operator's own, and may be shown.
type FailedError struct {
	Plugin string
	Phase  core.Phase // empty: no phase
	Part   string     // then "gate" or "refusal"
	Cause  error
}

// Error implements error.
func (e *FailedError) Error() string {
	if e.Phase != "" {
		return fmt.Sprintf("plugin %q in phase %s: %v", e.Plugin, e.Phase, e.Cause)
	}
	return fmt.Sprintf("%s of plugin %q: %v", e.Part, e.Plugin, e.Cause)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Cause }

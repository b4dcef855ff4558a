package tool

import (
	"github.com/reveille-run/reveille/core"
)

// Suspended returns what makes a call wait for a decision. When one resumes it,
// the tool runs again with [Call.Resume], unless the mode says otherwise. The
// result must have nothing else.
func Suspended(s core.TicketRequest) Result { return Result{Suspend: &s} }

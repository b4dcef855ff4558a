package tool

import (
	"github.com/reveille-run/reveille/core"
)

// Suspended returns a result that makes a call wait for a decision. When a decision resumes
// it, the tool runs again with [Call.Resume], unless the mode differs. The result must have
// nothing else.
func Suspended(s core.TicketRequest) Result { return Result{Suspend: &s} }

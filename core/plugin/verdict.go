package plugin

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Verdict is what a gate returns: [Allow], [Block], [Suspend] or [SetResult]. The zero
// Verdict is Allow; at most one of Block, Result and Suspend is set.
//
// A suspension without an id gets one that is the same each time the gate judges the call.
// When that suspension was decided to resume, now or earlier in the call's life, its
// verdict counts as Allow.
type Verdict struct {
	Block   bool                // the run ends, blocked for Reason
	Reason  string              // of Block: for people
	Result  *core.ToolResult    // the call's; the tool does not run
	Suspend *core.TicketRequest // the call waits for a decision on it
	Command state.Command       // of any verdict; counts with the call's result
}

// Allow is the verdict of a gate that has nothing to object.
var Allow = Verdict{}

// Block returns the verdict that ends the run; the reason is for people, who see its first
// 4 KiB.
func Block(reason string) Verdict { return Verdict{Block: true, Reason: reason} }

// Suspend returns the verdict that makes the call wait for a decision. A request that
// is not sound, such as one whose Response is not a schema, becomes the call's error
// result.
func Suspend(request core.TicketRequest) Verdict { return Verdict{Suspend: &request} }

// SetResult returns the verdict that gives the call its result; its tool does not run.
// CallID and Name are filled in; its status is core.ResultSet, unless it is
// core.ResultDenied: hooks of AfterTool do not see that. A result that
// [toolcall.CheckResult] refuses becomes an error result with the reason.
func SetResult(result core.ToolResult) Verdict { return Verdict{Result: &result} }

// With returns the verdict with a command, which counts with the call's result.
func (v Verdict) With(c state.Command) Verdict {
	v.Command = state.Combine(v.Command, c)
	return v
}

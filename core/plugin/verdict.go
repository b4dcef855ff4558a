package plugin

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// VerdictKind is what a gate decides. A later kind outranks an earlier one.
type VerdictKind uint8

// The verdicts.
const (
	VerdictAllow     VerdictKind = iota // nothing to object
	VerdictSetResult                    // Result is the call's; the tool does not run
	VerdictSuspend                      // the call waits for a decision on Suspend
	VerdictBlock                        // the run ends, blocked for Reason
)

// Verdict is what a gate returns: [Allow], [Block], [Suspend] or [SetResult]. A
// suspension without an id gets one that is the same each time the call is asked
// about; when that suspension was decided to resume, now or earlier in the call's
// life, its verdict counts as Allow.
type Verdict struct {
	Kind    VerdictKind
	Reason  string              // VerdictBlock: for people
	Result  *core.ToolResult    // VerdictSetResult
	Suspend *core.TicketRequest // VerdictSuspend
	Command state.Command       // with whatever verdict; counts with the call's result
}

// Allow is the verdict of a gate that has nothing to object.
var Allow = Verdict{}

// Block returns the verdict that ends the run; the reason is for people, who are
// shown its first 4 KiB.
func Block(reason string) Verdict { return Verdict{Kind: VerdictBlock, Reason: reason} }

// Suspend returns the verdict that makes the call wait for a decision. A request that
// [tool.CheckTicketRequest] refuses becomes the call's error result.
func Suspend(request core.TicketRequest) Verdict {
	return Verdict{Kind: VerdictSuspend, Suspend: &request}
}

// SetResult returns the verdict that gives the call its result; its tool does not
// run. CallID and Name are filled in; its status is core.ResultSet, unless it says that the
// call is denied (core.ResultDenied): hooks of AfterTool are not shown that. One that [tool.CheckResult] refuses becomes an
// error result that says so.
func SetResult(result core.ToolResult) Verdict {
	return Verdict{Kind: VerdictSetResult, Result: &result}
}

// With returns the verdict with a command, which counts with the call's result.
func (v Verdict) With(c state.Command) Verdict {
	v.Command = state.Combine(v.Command, c)
	return v
}

func (v Verdict) check() error {
	switch {
	case v.Kind > VerdictBlock:
		return fmt.Errorf("verdict %d does not exist", v.Kind)
	case v.Kind == VerdictSetResult && v.Result == nil:
		return errors.New("the verdict sets no result")
	case v.Kind == VerdictSuspend && v.Suspend == nil:
		return errors.New("the verdict does not say what the call waits for")
	}
	return nil
}

package reveilletest

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/tool"
)

// Turn is what a model says once: a text, calls that are made side by side, or an error.
type Turn = scripted.Turn

// Script returns a model that says one turn after the other in each run. A run that takes
// more steps than there are turns fails with an error that says so. Turns that begin with an
// Input are those of the runs whose first input is that text.
func Script(turns ...Turn) reveille.Model { return scripted.Turns(turns...) }

// Call returns a call for a [Turn]. args are encoded as JSON; nil: an empty object.
func Call(name string, args any) reveille.ToolCall { return scripted.Call(name, args) }

// Rules returns a model that does what the last message says: "call: TOOL JSON" calls a tool
// with these arguments, "fail" fails, "slow: 20" says twenty words, and so on. Anything else
// is repeated.
func Rules() reveille.Model { return scripted.Rules() }

// RunTool runs a tool by itself as a run does: arguments are checked, and an error, a timeout
// or a panic becomes a result. args are encoded as JSON; nil: an empty object. A fatal error
// fails the test.
func RunTool(t testing.TB, x reveille.Tool, args any) reveille.ToolResult {
	t.Helper()
	c := Call(x.Spec().Name, args)
	r, err := toolrun.Execute(t.Context(), x, tool.Call{ID: "call", Name: c.Name, Arguments: c.Arguments, Idempotency: "run/1/0"})
	if err != nil {
		t.Fatalf("tool %s: %v", c.Name, err)
	}
	return r
}

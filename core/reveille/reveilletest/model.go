package reveilletest

import (
	"testing"

	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/tool"
)

// Turn is one response of a model: a text, calls that are made in parallel, or an error.
type Turn = scripted.Turn

// Script returns a model that generates one turn after the other in each run. If a run takes
// more steps than there are turns, it fails with an error that states this. Turns that start
// with an Input belong to the runs whose first input is that text.
func Script(turns ...Turn) reveille.Model { return scripted.Turns(turns...) }

// Call returns a call for a [Turn]. args are encoded as JSON; nil: an empty object.
func Call(name string, args any) reveille.ToolCall { return scripted.Call(name, args) }

// Rules returns a model that obeys the last message: "call: TOOL JSON" calls a tool with these
// arguments, "fail" fails, "slow: 20" generates twenty words, and so on. It repeats any other
// message.
func Rules() reveille.Model { return scripted.Rules() }

// RunTool runs one tool as a run would: it validates the arguments, and an error, a timeout or
// a panic becomes a result. args are encoded as JSON; nil: an empty object. A fatal error fails
// the test.
func RunTool(t testing.TB, x reveille.Tool, args any) reveille.ToolResult {
	t.Helper()
	c := Call(x.Spec().Name, args)
	r, err := toolrun.Execute(t.Context(), x, tool.Call{ID: "call", Name: c.Name, Arguments: c.Arguments, Idempotency: "run/1/0"})
	if err != nil {
		t.Fatalf("tool %s: %v", c.Name, err)
	}
	return r
}

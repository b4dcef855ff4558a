package run

import (
	"context"

	"github.com/reveille-run/reveille/core/tool"
)

// runTool runs the tool of call i and waits for it. An error is one that the tool
// made fatal, or, when ctx has ended, its cause: there is no result then.
func (p *step) runTool(ctx context.Context, _ int, t tool.Tool, call tool.Call) (tool.Result, error) {
	return tool.Execute(ctx, t, call)
}

package background

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// The relations of a recipient or target to the run of the call.
const (
	relationSelf   = "self"
	relationParent = "parent"
	relationChild  = "child"
	relationAgent  = "agent"
)

// target is what cancel_task cancels.
type target struct {
	Relation string `json:"relation" jsonschema:"self: this run; child: a background task"`
	Name     string `json:"name,omitempty" jsonschema:"of a child: the id or the name of its task"`
}

// cancelArguments are those of cancel_task.
type cancelArguments struct {
	Target target `json:"target"`
}

// Check returns an error about a target that names nothing.
func (a cancelArguments) Check() error {
	switch a.Target.Relation {
	case relationSelf:
		return nil
	case relationChild:
		return named(a.Target.Name)
	}
	return core.Errorf(core.CodeInvalid, "target.relation is %q, allowed are self and child", core.Excerpt(a.Target.Relation))
}

func named(task string) error {
	if task == "" {
		return core.Errorf(core.CodeInvalid, "name is empty, want the id or the name of a task")
	}
	return nil
}

// receipt is the result of cancel_task.
type receipt struct {
	Status    string   `json:"status"` // accepted or failed
	Root      string   `json:"root_task_id"`
	Cancelled int      `json:"cancelled_count"`
	Error     *problem `json:"error,omitempty"`
}

// cancel cancels a task, or the call's own run.
func cancel(ctx context.Context, call tool.Call, a cancelArguments) (tool.Result, error) {
	run, root := call.Run, call.Run.String()
	if a.Target.Relation == relationChild {
		t, child, none, err := look(ctx, call, a.Target.Name)
		switch {
		case err != nil:
			return tool.Result{}, err
		case none != nil:
			return refused(a.Target.Name, "task_not_found", none.Message), nil
		case child.Status == core.RunDone:
			return refused(t.ID(), "not_running", fmt.Sprintf("task %s is over: %s", t.ID(), statusOf(child))), nil
		}
		run, root = t.RunID, t.ID()
	}
	n, err := call.CancelRun(ctx, run)
	if core.CodeOf(err) == core.CodeNotFound {
		return refused(root, "not_running", fmt.Sprintf("%s is over", root)), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	return tool.NewResult(receipt{Status: "accepted", Root: root, Cancelled: n}), nil
}

// refused is the receipt of a task that cannot be cancelled.
func refused(root, code, message string) tool.Result {
	return tool.NewResult(receipt{Status: "failed", Root: root, Error: &problem{code, message}})
}

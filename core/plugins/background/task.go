package background

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// tasksKey is the state key of the background tasks of a thread, by their ids: the newest 100.
var tasksKey = state.Map[task](ID+".tasks", state.ScopeThread)

// maxTasks is how many tasks a thread remembers.
const maxTasks = 100

// task is a run that a call of the thread has started in the background.
type task struct {
	Number  int     `json:"number"` // the task's id is bg_<number>
	Name    string  `json:"name,omitempty"`
	AgentID string  `json:"agent_id"`
	RunID   core.ID `json:"run_id"`
	// StartedBy and Step are the run and the step of the call.
	StartedBy core.ID `json:"started_by"`
	Step      int     `json:"step"`
}

// ID is the name of the task within its thread.
func (t task) ID() string { return fmt.Sprint("bg_", t.Number) }

// The states of a task.
const (
	running   = "running"
	completed = "completed"
	failed    = "failed"
	cancelled = "cancelled"
)

// statusOf is the state of a task whose run is r.
func statusOf(r core.Run) string {
	if r.Status != core.RunDone {
		return running
	}
	if r.Termination == nil {
		return failed
	}
	switch r.Termination.Type {
	case core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped:
		return completed
	case core.TerminationCancelled, core.TerminationSuperseded:
		return cancelled
	}
	return failed
}

// newest are the tasks of a thread, newest first.
func newest(tasks map[string]task) []task {
	return slices.SortedFunc(maps.Values(tasks), func(a, b task) int { return cmp.Compare(b.Number, a.Number) })
}

// number is that of a task that a call starts: one that no call of the same step has, whether
// or not the call sees what those have started. The same call that runs again gets the same.
func number(tasks map[string]task, call tool.Call) int {
	for _, t := range newest(tasks) {
		if t.StartedBy != call.Run || t.Step != call.Step {
			return t.Number + 1 + call.Index
		}
	}
	return call.Index
}

// find returns a task by its id, or the newest with the name.
func find(call tool.Call, name string) (task, bool, error) {
	tasks, err := tasksKey.Read(call.Snapshot)
	if err != nil {
		return task{}, false, err
	}
	if t, ok := tasks[name]; ok {
		return t, true, nil
	}
	for _, t := range newest(tasks) {
		if t.Name == name && name != "" {
			return t, true, nil
		}
	}
	return task{}, false, nil
}

// startArguments are those of start_agent.
type startArguments struct {
	AgentID string `json:"agent_id" jsonschema:"the agent to start"`
	Prompt  string `json:"prompt" jsonschema:"what the agent is to do, with everything that it must know"`
	Name    string `json:"name,omitempty" jsonschema:"a name of your choice for the task"`
}

// Check returns an error about arguments that no call may have.
func (a startArguments) Check() error {
	if core.Blank(a.Prompt) {
		return core.Errorf(core.CodeInvalid, "prompt is blank")
	}
	if a.Name == "" {
		return nil
	}
	return core.CheckName("name", a.Name)
}

// started is the result of start_agent.
type started struct {
	TaskID  string  `json:"task_id"`
	RunID   core.ID `json:"run_id"`
	AgentID string  `json:"agent_id"`
	Name    string  `json:"name,omitempty"`
	Status  string  `json:"status"`
}

// start starts an agent in the background.
func (c Config) start(ctx context.Context, call tool.Call, a startArguments) (tool.Result, error) {
	if !slices.Contains(c.Agents, a.AgentID) {
		return tool.Failed(fmt.Sprintf("agent %q cannot be started, allowed are: %s", core.Excerpt(a.AgentID), c.agents())), nil
	}
	tasks, err := tasksKey.Read(call.Snapshot)
	if err != nil {
		return tool.Result{}, err
	}
	run, err := call.Start(ctx, tool.Child{Agent: a.AgentID, Messages: []core.Message{core.UserMessage(a.Prompt)}, Background: true, Detached: true})
	if err != nil {
		return tool.Result{}, err
	}
	t := task{Number: number(tasks, call), Name: a.Name, AgentID: a.AgentID, RunID: run, StartedBy: call.Run, Step: call.Step}
	result := tool.NewResult(started{t.ID(), run, a.AgentID, a.Name, running}).With(tasksKey.Put(t.ID(), t))
	for i, old := range newest(tasks) {
		if i >= maxTasks-1 {
			result = result.With(tasksKey.Delete(old.ID()))
		}
	}
	return result, nil
}

// taskArguments name a task.
type taskArguments struct {
	TaskID string `json:"task_id" jsonschema:"the id or the name of a task"`
}

// look reads the run of a task. none is the result of a call that names no task.
func look(ctx context.Context, call tool.Call, name string) (t task, run core.Run, none *tool.Result, err error) {
	t, ok, err := find(call, name)
	if err != nil {
		return t, run, nil, err
	}
	if ok {
		run, err = call.ChildRun(ctx, t.RunID)
	}
	if !ok || core.CodeOf(err) == core.CodeNotFound {
		result := tool.Failed(fmt.Sprintf("task %q does not exist", core.Excerpt(name)))
		return t, run, &result, nil
	}
	return t, run, nil, err
}

// taskStatus is the result of agent_status.
type taskStatus struct {
	TaskID  string  `json:"task_id"`
	AgentID string  `json:"agent_id"`
	Name    string  `json:"name,omitempty"`
	RunID   core.ID `json:"run_id"`
	Status  string  `json:"status"`
	Reason  string  `json:"reason,omitempty"` // how it ended, unless by itself
	Steps   int     `json:"steps"`
}

// reason is how a run ended, unless by itself; empty: it is not over.
func reason(r core.Run) string {
	t := r.Termination
	if t == nil || t.Type == core.TerminationNatural {
		return ""
	}
	if t.Code == "" {
		return string(t.Type)
	}
	return string(t.Type) + ": " + t.Code
}

// status reads the state of a task.
func status(ctx context.Context, call tool.Call, a taskArguments) (tool.Result, error) {
	t, run, none, err := look(ctx, call, a.TaskID)
	if none != nil || err != nil {
		return orNone(none), err
	}
	return tool.NewResult(taskStatus{t.ID(), t.AgentID, t.Name, t.RunID, statusOf(run), reason(run), run.Steps}), nil
}

// taskOutput is the result of agent_output.
type taskOutput struct {
	TaskID string `json:"task_id"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Output string `json:"output"`
	Cut    bool   `json:"cut,omitempty"` // there is more
}

// maxOutput is how much of a task's output a result has, in bytes: JSON may have six for each, and
// a result has at most 1 MiB.
const maxOutput = 160 << 10

// output reads what a task has said.
func output(ctx context.Context, call tool.Call, a taskArguments) (tool.Result, error) {
	t, run, none, err := look(ctx, call, a.TaskID)
	if none != nil || err != nil {
		return orNone(none), err
	}
	text, cut := run.Response, len(run.Response) > maxOutput
	if cut {
		text = strings.ToValidUTF8(text[:maxOutput], "")
	}
	return tool.NewResult(taskOutput{t.ID(), statusOf(run), reason(run), text, cut}), nil
}

func orNone(r *tool.Result) tool.Result {
	if r == nil {
		return tool.Result{}
	}
	return *r
}

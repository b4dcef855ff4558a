package background

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Tasks are the background tasks of a thread, by their ids: the newest 100.
var Tasks = state.Map[Task](ID+".tasks", state.ScopeThread)

// maxTasks is how many tasks a thread remembers.
const maxTasks = 100

// Task is a run that a call of the thread has started in the background.
type Task struct {
	Number  int     `json:"number"` // the task's id is bg_<number>
	Name    string  `json:"name,omitempty"`
	AgentID string  `json:"agent_id"`
	RunID   core.ID `json:"run_id"`
	// StartedBy and Step are the run and the step of the call.
	StartedBy core.ID `json:"started_by"`
	Step      int     `json:"step"`
}

// ID is the name of the task within its thread.
func (t Task) ID() string { return fmt.Sprint("bg_", t.Number) }

// Status is the state of a task.
type Status string

// The states.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// statusOf is the state of a run.
func statusOf(r core.Run) Status {
	if r.Status != core.RunDone {
		return Running
	}
	if r.Termination == nil {
		return Failed
	}
	switch r.Termination.Type {
	case core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped:
		return Completed
	case core.TerminationCancelled, core.TerminationSuperseded:
		return Cancelled
	}
	return Failed
}

// newest are the tasks of a thread, newest first.
func newest(tasks map[string]Task) []Task {
	return slices.SortedFunc(maps.Values(tasks), func(a, b Task) int { return cmp.Compare(b.Number, a.Number) })
}

// number is that of a task that a call starts: one that no call of the same step has, whether
// or not the call sees what those have started. The same call that runs again gets the same.
func number(tasks map[string]Task, call tool.Call) int {
	for _, t := range newest(tasks) {
		if t.StartedBy != call.Run || t.Step != call.Step {
			return t.Number + 1 + call.Index
		}
	}
	return call.Index
}

// find returns a task by its id, or the newest with the name.
func find(call tool.Call, name string) (Task, bool, error) {
	tasks, err := Tasks.Read(call.Snapshot)
	if err != nil {
		return Task{}, false, err
	}
	if t, ok := tasks[name]; ok {
		return t, true, nil
	}
	for _, t := range newest(tasks) {
		if t.Name == name && name != "" {
			return t, true, nil
		}
	}
	return Task{}, false, nil
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
	Status  Status  `json:"status"`
}

// start starts an agent in the background.
func (c Config) start(ctx context.Context, call tool.Call, a startArguments) (tool.Result, error) {
	if !slices.Contains(c.Agents, a.AgentID) {
		return tool.Failed(fmt.Sprintf("agent %q cannot be started, allowed are: %s", core.Excerpt(a.AgentID), c.agents())), nil
	}
	tasks, err := Tasks.Read(call.Snapshot)
	if err != nil {
		return tool.Result{}, err
	}
	run, err := call.Start(ctx, tool.Child{Agent: a.AgentID, Messages: []core.Message{core.UserMessage(a.Prompt)}, Background: true, Detached: true})
	if err != nil {
		return tool.Result{}, err
	}
	t := Task{Number: number(tasks, call), Name: a.Name, AgentID: a.AgentID, RunID: run, StartedBy: call.Run, Step: call.Step}
	result := tool.NewResult(started{t.ID(), run, a.AgentID, a.Name, Running}).With(Tasks.Put(t.ID(), t))
	for i, old := range newest(tasks) {
		if i >= maxTasks-1 {
			result = result.With(Tasks.Delete(old.ID()))
		}
	}
	return result, nil
}

// taskArguments name a task.
type taskArguments struct {
	TaskID string `json:"task_id" jsonschema:"the id or the name of a task"`
}

// look reads the run of a task. failed is the result of a call that names none.
func look(ctx context.Context, call tool.Call, name string) (t Task, run core.Run, failed *tool.Result, err error) {
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
	Status  Status  `json:"status"`
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
	t, run, failed, err := look(ctx, call, a.TaskID)
	if failed != nil || err != nil {
		return orNone(failed), err
	}
	return tool.NewResult(taskStatus{t.ID(), t.AgentID, t.Name, t.RunID, statusOf(run), reason(run), run.Steps}), nil
}

// taskOutput is the result of agent_output.
type taskOutput struct {
	TaskID string `json:"task_id"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	Output string `json:"output"`
}

// output reads what a task has said.
func output(ctx context.Context, call tool.Call, a taskArguments) (tool.Result, error) {
	t, run, failed, err := look(ctx, call, a.TaskID)
	if failed != nil || err != nil {
		return orNone(failed), err
	}
	return tool.NewResult(taskOutput{t.ID(), statusOf(run), reason(run), run.Response}), nil
}

func orNone(r *tool.Result) tool.Result {
	if r == nil {
		return tool.Result{}
	}
	return *r
}

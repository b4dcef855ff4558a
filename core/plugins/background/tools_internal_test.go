package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// outside is what calls find outside of their thread. It starts runs, too.
type outside struct {
	run    core.Run
	failed []tool.FailedMessage
	err    error
	sent   []tool.Message
	again  []bool // of recoveries
}

func (o *outside) StartChild(context.Context, tool.Call, tool.Child) (core.ID, error) {
	return core.ID{15: 7}, o.err
}

func (o *outside) Lineage() tool.Lineage { return tool.Lineage{} }

func (o *outside) ChildRun(context.Context, tool.Call, core.ID) (core.Run, error) {
	return o.run, o.err
}

func (o *outside) CancelRun(context.Context, tool.Call, core.ID) (int, error) { return 3, o.err }

func (o *outside) SendMessage(_ context.Context, _ tool.Call, m tool.Message) (core.ID, error) {
	o.sent = append(o.sent, m)
	return core.ID{15: 9}, o.err
}

func (o *outside) FailedMessages(context.Context, tool.Call) ([]tool.FailedMessage, error) {
	return o.failed, nil
}

func (o *outside) RecoverMessages(_ context.Context, _ tool.Call, again bool) (int, error) {
	o.again = append(o.again, again)
	return 2, o.err
}

// with is the state of a thread with tasks.
func with(t *testing.T, tasks ...task) state.Snapshot {
	t.Helper()
	var commands []state.Command
	for _, one := range tasks {
		commands = append(commands, tasksKey.Put(one.ID(), one))
	}
	return changed(t, state.Snapshot{}, commands...)
}

func changed(t *testing.T, s state.Snapshot, commands ...state.Command) state.Snapshot {
	t.Helper()
	registry, err := new(state.Registry).With(tasksKey.Definition())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if s, _, err = registry.Commit(s, c.Batch); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestStatusOfATask(t *testing.T) {
	ended := func(kind core.TerminationType, code string) core.Run {
		return core.Run{Status: core.RunDone, Steps: 2, Termination: &core.Termination{Type: kind, Code: code}}
	}
	tests := []struct {
		run  core.Run
		want string
	}{
		{core.Run{Status: core.RunCreated}, `"running","steps":0`},
		{core.Run{Status: core.RunRunning, Steps: 1}, `"running","steps":1`},
		{core.Run{Status: core.RunWaiting}, `"running","steps":0`},
		{ended(core.TerminationNatural, ""), `"completed","steps":2`},
		{ended(core.TerminationBehavior, ""), `"completed","reason":"behavior_requested","steps":2`},
		{ended(core.TerminationStopped, "max_rounds"), `"completed","reason":"stopped: max_rounds","steps":2`},
		{ended(core.TerminationCancelled, ""), `"cancelled","reason":"cancelled","steps":2`},
		{ended(core.TerminationSuperseded, ""), `"cancelled","reason":"superseded","steps":2`},
		{ended(core.TerminationBlocked, "denied"), `"failed","reason":"blocked: denied","steps":2`},
		{ended(core.TerminationError, "dead_letter"), `"failed","reason":"error: dead_letter","steps":2`},
		{core.Run{Status: core.RunDone}, `"failed","steps":0`},
	}
	for _, tt := range tests {
		call := tool.Call{Snapshot: with(t, task{Number: 4, AgentID: "a"}), Others: &outside{run: tt.run}}
		result, err := status(t.Context(), call, taskArguments{"bg_4"})
		want := `{"task_id":"bg_4","agent_id":"a","run_id":"","status":` + tt.want + `}`
		if err != nil || string(result.Data) != want {
			t.Errorf("%s, %v; want %s", result.Data, err, want)
		}
	}
}

// A call that starts a task alongside others gets a number of its own, whether it sees the
// tasks of the others or not, and the same when it runs again.
func TestNumbersOfTasks(t *testing.T) {
	run, other := core.ID{1}, core.ID{2}
	before := []task{{Number: 2, StartedBy: other, Step: 1}, {Number: 3, StartedBy: run, Step: 1}}
	tests := []struct {
		name  string
		tasks []task
		index int
		want  int
	}{
		{"the first", nil, 0, 0},
		{"the second call of the first step", nil, 1, 1},
		{"the second call, which sees the first", []task{{Number: 0, StartedBy: run, Step: 2}}, 1, 1},
		{"the first call, again", []task{{Number: 0, StartedBy: run, Step: 2}}, 0, 0},
		{"after others", before, 0, 4},
		{"after others, the third call", before, 2, 6},
		{"the third call, which sees the second", append(slices.Clip(before), task{Number: 5, StartedBy: run, Step: 2}), 2, 6},
		{"in the same step of another run", []task{{Number: 0, StartedBy: other, Step: 2}}, 0, 1},
	}
	for _, tt := range tests {
		tasks := map[string]task{}
		for _, one := range tt.tasks {
			tasks[one.ID()] = one
		}
		if got := number(tasks, tool.Call{Run: run, Step: 2, Index: tt.index}); got != tt.want {
			t.Errorf("%s: bg_%d, want bg_%d", tt.name, got, tt.want)
		}
	}
}

// A thread remembers its newest 100 tasks.
func TestTheOldestTasksAreForgotten(t *testing.T) {
	var tasks []task
	for n := range 100 {
		tasks = append(tasks, task{Number: n})
	}
	before := with(t, tasks...)
	call := tool.Call{Snapshot: before, Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Run: core.ID{1}, Step: 1, Children: &outside{}}
	result, err := Config{Agents: []string{"a"}}.start(t.Context(), call, startArguments{AgentID: "a", Prompt: "go", Name: "it"})
	if want := `{"task_id":"bg_100","run_id":"00000000-0000-0000-0000-000000000007","agent_id":"a","name":"it","status":"running"}`; err != nil || string(result.Data) != want {
		t.Fatalf("%s, %v; want %s", result.Data, err, want)
	}
	after, err := tasksKey.Read(changed(t, before, result.Command))
	if _, first := after["bg_0"]; err != nil || len(after) != 100 || first || after["bg_1"].Number != 1 {
		t.Errorf("%d tasks, %v", len(after), err)
	}
	if diff := cmp.Diff(task{Number: 100, Name: "it", AgentID: "a", RunID: core.ID{15: 7}, StartedBy: core.ID{1}, Step: 1}, after["bg_100"]); diff != "" {
		t.Errorf("the newest (-want +got):\n%s", diff)
	}
}

// A name is that of the newest task that has it; an id comes first.
func TestATaskIsFoundByItsName(t *testing.T) {
	call := tool.Call{Snapshot: with(t, task{Number: 0, Name: "dig"}, task{Number: 1, Name: "dig"}, task{Number: 2, Name: "bg_0"}, task{Number: 7})}
	for name, want := range map[string]int{"dig": 1, "bg_0": 0, "bg_2": 2, "bg_3": -1, "": -1} {
		found, ok, err := find(call, name)
		if err != nil || ok != (want >= 0) || ok && found.Number != want {
			t.Errorf("%q is %+v, %v, %v", name, found, ok, err)
		}
	}
}

// The output of a task is cut to what a result can have, between characters.
func TestALongOutputIsCut(t *testing.T) {
	const most = 163_840
	for _, tt := range []struct {
		text string
		kept int
		cut  bool
	}{
		{strings.Repeat("x", most), most, false},
		{strings.Repeat("x", most+1), most, true},
		{strings.Repeat("x", most-1) + "é", most - 1, true},
		{strings.Repeat("\x01", most+1), most, true},
	} {
		call := tool.Call{Snapshot: with(t, task{}), Others: &outside{run: core.Run{Status: core.RunRunning, Response: tt.text}}}
		result, err := output(t.Context(), call, taskArguments{"bg_0"})
		var got taskOutput
		if json.Unmarshal(result.Data, &got) != nil || err != nil || got.Output != tt.text[:tt.kept] || got.Cut != tt.cut || len(result.Data) > 1<<20 {
			t.Errorf("%d bytes: %d are left, cut %t, %v", len(tt.text), len(got.Output), got.Cut, err)
		}
	}
}

// A task whose run is gone, as with its thread, does not exist.
func TestATaskWhoseRunIsGone(t *testing.T) {
	call := tool.Call{Snapshot: with(t, task{}), Others: &outside{err: core.Errorf(core.CodeNotFound, "no such run")}}
	for name, does := range map[string]func(context.Context, tool.Call, taskArguments) (tool.Result, error){"agent_status": status, "agent_output": output} {
		if result, err := does(t.Context(), call, taskArguments{"bg_0"}); err != nil || !result.IsError || result.Message != `task "bg_0" does not exist` {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
	result, err := cancel(t.Context(), call, cancelArguments{target{"child", "bg_0"}})
	if want := `{"status":"failed","root_task_id":"bg_0","cancelled_count":0,"error":{"code":"task_not_found","message":"task \"bg_0\" does not exist"}}`; err != nil || string(result.Data) != want {
		t.Errorf("cancel_task: %s, %v; want %s", result.Data, err, want)
	}
}

// What fails for a reason that is not the call's is the call's error, and no receipt.
func TestFailuresOfOthersAreErrors(t *testing.T) {
	down := core.Errorf(core.CodeThrottled, "not now")
	c := Config{Agents: []string{"a"}}
	calls := map[string]func(tool.Call) (tool.Result, error){
		"start_agent": func(call tool.Call) (tool.Result, error) {
			return c.start(t.Context(), call, startArguments{AgentID: "a", Prompt: "x"})
		},
		"agent_status": func(call tool.Call) (tool.Result, error) { return status(t.Context(), call, taskArguments{"bg_0"}) },
		"agent_output": func(call tool.Call) (tool.Result, error) { return output(t.Context(), call, taskArguments{"bg_0"}) },
		"cancel_task, a child": func(call tool.Call) (tool.Result, error) {
			return cancel(t.Context(), call, cancelArguments{target{"child", "bg_0"}})
		},
		"cancel_task, itself": func(call tool.Call) (tool.Result, error) {
			return cancel(t.Context(), call, cancelArguments{target{Relation: "self"}})
		},
		"send_message": func(call tool.Call) (tool.Result, error) {
			return c.send(t.Context(), call, sendArguments{recipient{Relation: "parent"}, "x"})
		},
		"replay": func(call tool.Call) (tool.Result, error) {
			return recoverFailed(t.Context(), call, recoverArguments{"replay"})
		},
		"clear": func(call tool.Call) (tool.Result, error) {
			return recoverFailed(t.Context(), call, recoverArguments{"clear"})
		},
	}
	for name, does := range calls {
		for _, there := range []bool{true, false} {
			o := &outside{err: down}
			call := tool.Call{Name: "x", Snapshot: with(t, task{}), Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Children: o, Others: o}
			want := core.CodeThrottled
			if !there {
				call.Children, call.Others, want = nil, nil, core.CodeUnsupported
			}
			if _, err := does(call); core.CodeOf(err) != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// A full outbox is a receipt, and so is a run that ends before it is cancelled.
func TestReceiptsOfRefusals(t *testing.T) {
	full := &tool.MessageError{Code: "outbox_full", Cause: errors.New("a thread has at most 8 outgoing messages")}
	o := &outside{err: fmt.Errorf("send: %w", full)}
	result, err := Config{}.send(t.Context(), tool.Call{Others: o}, sendArguments{recipient{Relation: "parent"}, "x"})
	if want := `{"status":"failed","error":{"code":"outbox_full","message":"a thread has at most 8 outgoing messages"}}`; err != nil || string(result.Data) != want {
		t.Errorf("%s, %v; want %s", result.Data, err, want)
	}
	o.err = core.Errorf(core.CodeNotFound, "no such run")
	result, err = cancel(t.Context(), tool.Call{Others: o, Run: core.ID{15: 1}}, cancelArguments{target{Relation: "self"}})
	if want := `{"status":"failed","root_task_id":"00000000-0000-0000-0000-000000000001","cancelled_count":0,"error":{"code":"not_running","message":"00000000-0000-0000-0000-000000000001 is over"}}`; err != nil || string(result.Data) != want {
		t.Errorf("%s, %v; want %s", result.Data, err, want)
	}
	o.err = nil
	result, err = cancel(t.Context(), tool.Call{Others: o, Run: core.ID{15: 1}}, cancelArguments{target{Relation: "self"}})
	if want := `{"status":"accepted","root_task_id":"00000000-0000-0000-0000-000000000001","cancelled_count":3}`; err != nil || string(result.Data) != want {
		t.Errorf("%s, %v; want %s", result.Data, err, want)
	}
}

func TestReceiptsOfFailedMessages(t *testing.T) {
	o := &outside{failed: []tool.FailedMessage{{ID: core.ID{15: 1}, Thread: "t2", Code: "recipient_full", Tries: 5, At: 7}}}
	for action, want := range map[string]string{
		"list":   `{"messages":[{"message_id":"00000000-0000-0000-0000-000000000001","thread_id":"t2","code":"recipient_full","tries":5,"failed_at":7}]}`,
		"replay": `{"left":1,"replayed":2}`,
		"clear":  `{"cleared":2}`,
	} {
		result, err := recoverFailed(t.Context(), tool.Call{Others: o}, recoverArguments{action})
		if err != nil || string(result.Data) != want {
			t.Errorf("%s: %s, %v; want %s", action, result.Data, err, want)
		}
		if wants := map[string][]bool{"replay": {true}, "clear": {false}}[action]; !slices.Equal(o.again, wants) {
			t.Errorf("%s: recovered are %v, want %v", action, o.again, wants)
		}
		o.again = nil
	}
}

// Which message a call sends.
func TestRecipientsOfMessages(t *testing.T) {
	o := &outside{}
	call := tool.Call{Others: o, Snapshot: with(t, task{RunID: core.ID{15: 5}}), Thread: core.ThreadKey{Thread: "t1"}}
	for _, to := range []recipient{{Relation: "parent", ThreadID: "t9"}, {Relation: "child", Name: "bg_0"}, {Relation: "agent", ThreadID: "t2"}, {Relation: "agent", ThreadID: "t2", AgentID: "a"}} {
		if _, err := (Config{Agents: []string{"a"}}).send(t.Context(), call, sendArguments{to, "hi"}); err != nil {
			t.Error(err)
		}
	}
	want := []tool.Message{
		{Text: "hi", Parent: true}, {Text: "hi", Child: core.ID{15: 5}}, {Text: "hi", Thread: "t2"}, {Text: "hi", Thread: "t2", AgentID: "a"},
	}
	if diff := cmp.Diff(want, o.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		agents []string
		want   string
	}{
		{[]string{"a", "b"}, ""},
		{[]string{"a", "a"}, `agents: "a" is repeated`},
		{[]string{"a#"}, `agents: id "a#" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
	} {
		err := Config{Agents: tt.agents}.Check()
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.agents, err, tt.want)
		}
	}
}

package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// Whatever becomes of a call, the model that is asked next reads one result of it, at
// its place: in the same run, or in the next one of the thread.
func TestOneResultForEachCall(t *testing.T) {
	const a, c = `ok: "a"`, `ok: "c"`
	ended := func(how string) string { return "not_executed: no result: the run was ended first (" + how + ")" }
	tests := []struct {
		name    string
		call    string                       // the second of three calls
		then    func(t *testing.T, w *world) // when the run waits
		want    []string                     // results, in the order of the log
		chained []string                     // in a sequential round, where they are others
	}{
		{name: "the tool's", call: "look", want: []string{a, `ok: "b"`, c}},
		{name: "an error of the tool", call: "fail", want: []string{a, "error: execution failed: no such file", c}},
		{name: "a panic of the tool", call: "panic", want: []string{a, "error: execution failed: the tool panicked", c}},
		{name: "no such tool", call: "nothing", want: []string{a, `invalid: tool "nothing" not found`, c}},
		{name: "arguments that do not fit", call: "echo", want: []string{a, "invalid: invalid arguments: the arguments: got string, want object", c}},
		{name: "a gate's", call: "set", want: []string{a, `set: "gate"`, c}},
		{name: "a block", call: "block", want: []string{a, "blocked: blocked: no", "not_executed: not executed: an earlier call was blocked"}},
		{name: "a stop of the run", call: "stop", want: []string{"not_executed: not executed: test", "not_executed: not executed: test", "not_executed: not executed: test"}},
		{
			name: "a wait that was approved", call: "ask",
			then: func(t *testing.T, w *world) { w.mustDecide(t, 1, approve) },
			want: []string{a, `ok: "b" after about-ask`, c},
		},
		{
			name: "a wait that was refused", call: "ask",
			then: func(t *testing.T, w *world) { w.mustDecide(t, 1, deny) },
			want: []string{a, "denied: denied: not today after about-ask", c},
		},
		{
			name: "a wait that a person's input ended", call: "ask",
			then: func(t *testing.T, w *world) { w.submit(t, key, "and?", mailbox.ModeQueue) },
			want: []string{a, "cancelled: cancelled: the user went on without deciding", c},
		},
		{
			name: "a wait of a run that was cancelled", call: "ask",
			then: func(t *testing.T, w *world) {
				if _, err := w.box.Cancel(t.Context(), key, core.ID{}); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{a, ended("cancelled"), c}, chained: []string{a, ended("cancelled"), ended("cancelled")},
		},
		{name: "a wait that nobody ended in time", call: "expire", want: []string{a, ended("expired"), c}, chained: []string{a, ended("expired"), ended("expired")}},
		{name: "a tool that may have run", call: "once", want: []string{a, "unknown: outcome unknown: the tool may have run, and it must not run twice", c}},
		{
			name: "a tool that ended the run", call: "fatal",
			want: []string{a, "error: execution failed: the tool ended the run", c}, chained: []string{a, "error: execution failed: the tool ended the run", ended("tool")},
		},
	}
	for _, tt := range tests {
		for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming, agent.ParallelBatchApproval} {
			t.Run(fmt.Sprintf("%s/%s", mode, tt.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &heard{says: [][]model.Delta{calls("look", `"a"`, tt.call, `"b"`, "look", `"c"`), text("ok")}}
					o := options{mode: mode, model: m}
					if tt.call == "stop" {
						o.stop = append(o.stop, stopAtOnce)
					}
					w := &world{}
					says := func(_ context.Context, c tool.Call) (tool.Result, error) {
						return tool.Result{ToolResult: core.ToolResult{Data: c.Arguments}}, nil
					}
					o.tools = []tool.Tool{
						toolFunc{name: "look", run: says}, toolFunc{name: "ask", run: says}, toolFunc{name: "expire", run: says}, toolFunc{name: "set", run: says}, toolFunc{name: "block", run: says},
						toolFunc{name: "fail", run: func(context.Context, tool.Call) (tool.Result, error) {
							return tool.Result{}, errors.New("no such file")
						}},
						toolFunc{name: "panic", run: func(context.Context, tool.Call) (tool.Result, error) { panic("oh") }},
						toolFunc{name: "fatal", run: func(context.Context, tool.Call) (tool.Result, error) {
							return tool.Result{}, tool.Fatal(errors.New("no disk"))
						}},
						toolFunc{name: "once", atMostOnce: true, run: func(context.Context, tool.Call) (tool.Result, error) {
							time.Sleep(time.Second)
							w.store.dead.Store(true)
							return tool.NewResult("never read"), nil
						}},
					}
					o.plugins = []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
						switch c.Call.Name {
						case "ask":
							return suspends("ask"), nil
						case "expire":
							v := suspends("ask")
							v.Suspend.Timeout = time.Hour
							return v, nil
						case "set":
							return plugin.SetResult(core.ToolResult{Data: []byte(`"gate"`)}), nil
						case "block":
							return plugin.Block("no"), nil
						}
						return plugin.Allow, nil
					})}
					*w = *newWorld(t, o)
					w.submit(t, key, "hi", mailbox.ModeQueue)
					if tt.call == "once" { // the process dies behind the tool
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err == nil {
							t.Fatal("the process did not die")
						}
						w.store.dead.Store(false)
						w.reclaim(t)
						w.stepper = w.other(t, o)
					}
					w.finish(t, key, nil)
					if tt.then != nil {
						// Nothing stands for what is missing: the call's place in the log is empty.
						if _, found, err := w.store.Backend.Get(t.Context(), key, store.LogName(4)); err != nil || found {
							t.Errorf("a call that waits has a record: %v, %v", found, err)
						}
						tt.then(t, w)
						w.finish(t, key, nil)
					}
					want := tt.want
					if mode == agent.Sequential && tt.chained != nil {
						want = tt.chained
					}
					if diff := cmp.Diff(want, w.results(t)); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					w.submit(t, key, "go on", mailbox.ModeQueue)
					w.finish(t, key, nil)
					checkResults(t, m.requests[len(m.requests)-1])
				})
			})
		}
	}
}

// checkResults checks that a request has one result for each call, behind the turn and
// in the order of its calls.
func checkResults(t *testing.T, r model.Request) {
	t.Helper()
	turns := 0
	for i, m := range r.Messages {
		if len(m.ToolCalls) == 0 {
			continue
		}
		turns++
		var calls, results []string
		for _, c := range m.ToolCalls {
			calls = append(calls, c.ID)
		}
		for _, after := range r.Messages[i+1:] {
			if after.ToolResult == nil {
				break
			}
			results = append(results, after.ToolResult.CallID)
		}
		if diff := cmp.Diff(calls, results); diff != "" {
			t.Errorf("the model reads other results than calls (-calls +results):\n%s", diff)
		}
	}
	all := 0
	for _, m := range r.Messages {
		if m.ToolResult != nil {
			all++
		}
	}
	if turns != 1 || all != 3 {
		t.Errorf("the model reads %d turns with calls and %d results, want 1 and 3", turns, all)
	}
}

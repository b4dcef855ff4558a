package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	delegation "github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/tool"
)

// gauge notes how many calls of its tool run at the same time.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

// tool is one that works for a second.
func (g *gauge) tool() tool.Tool {
	return tool.New(tool.Spec{Name: "work"}, func(ctx context.Context, _ tool.Call, a struct {
		N int `json:"n"`
	}) (string, error) {
		g.mu.Lock()
		g.now++
		g.most = max(g.most, g.now)
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		g.mu.Lock()
		g.now--
		g.mu.Unlock()
		return fmt.Sprintf("work %d", a.N), ctx.Err()
	})
}

// team are parts whose agent lead calls its delegate so many times in one turn, in a mode. The
// delegate works for a second each time.
func team(g *gauge, calls int, mode agent.ExecutionMode) agent.Parts {
	first := scripted.Turn{}
	turns := []scripted.Turn{}
	for i := range calls {
		prompt := fmt.Sprintf("do %d", i)
		first.Calls = append(first.Calls, scripted.Call("agent_run_worker", map[string]string{"prompt": prompt}))
		turns = append(turns,
			scripted.Turn{Input: prompt, Calls: []core.ToolCall{scripted.Call("work", map[string]int{"n": i})}},
			scripted.Turn{Text: fmt.Sprintf("did %d", i)},
		)
	}
	turns = append([]scripted.Turn{first, {Text: "all done"}}, turns...)
	return agent.Parts{
		Specs: []agent.Spec{
			{ID: "lead", Model: "m", Delegates: []string{"worker"}, ExecutionMode: mode, AllowedTools: []string{}},
			{ID: "worker", Model: "m"},
		},
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.Turns(turns...)}}, Tools: []tool.Tool{g.tool()},
		Plugins: []plugin.Plugin{delegation.Plugin{}}, Default: "lead",
	}
}

// Delegates of one turn work side by side where calls do, and one after the other where they do
// not. A ninth call has a place as soon as one of the first eight is over.
func TestDelegatesOfATurn(t *testing.T) {
	for _, tt := range []struct {
		mode  agent.ExecutionMode
		calls int
		most  int // that worked at the same time
		took  time.Duration
	}{
		{agent.Sequential, 2, 1, 2 * time.Second},
		{agent.Sequential, 9, 1, 9 * time.Second},
		{agent.ParallelStreaming, 3, 3, time.Second},
		{agent.ParallelStreaming, 9, 9, time.Second},
		{agent.ParallelBatchApproval, 3, 3, time.Second},
		{agent.ParallelBatchApproval, 9, 9, time.Second},
		{agent.ParallelBatchApproval, 12, 12, time.Second},
	} {
		for _, workers := range []bool{true, false} { // without them, the call of Run takes all steps
			t.Run(fmt.Sprintf("%s %d workers %t", tt.mode, tt.calls, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := &gauge{}
					r := newSolo(t, team(g, tt.calls, tt.mode))
					if workers {
						defer works(t, r)()
					}
					began := time.Now()
					result, err := r.Run(t.Context(), "lead", "go")
					if err != nil || result.Text != "all done" {
						t.Fatalf("%q, %+v, %v", result.Text, result.Termination, err)
					}
					took := time.Since(began)
					var got, want []string
					for _, m := range result.Messages {
						if m.ToolResult != nil {
							var data struct{ Response string }
							_ = json.Unmarshal(m.ToolResult.Data, &data)
							got = append(got, data.Response)
						}
					}
					for i := range tt.calls {
						want = append(want, fmt.Sprintf("did %d", i))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
					if g.most != tt.most || took < tt.took || took > tt.took+time.Second {
						t.Errorf("%d at once, in %s; want %d in %s", g.most, took, tt.most, tt.took)
					}
				})
			})
		}
	}
}

// A delegate whose caller is cancelled is cancelled too, or continues if it is detached. It
// has the user of its caller, and knows its place in the tree.
func TestDelegatesWhenTheirCallerEnds(t *testing.T) {
	for end, want := range map[delegation.OnParentEnd]core.TerminationType{
		"": core.TerminationCancelled, "cancel": core.TerminationCancelled, delegation.Detach: core.TerminationNatural,
	} {
		t.Run(string(end), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parts := team(&gauge{}, 1, agent.Sequential)
				parts.Specs[0].Sections = plugin.Sections(delegation.Section.Setting(delegation.Config{
					Agents: map[string]delegation.Settings{"worker": {OnParentEnd: end}},
				}))
				r := newSolo(t, parts)
				defer works(t, r)()
				id := core.Identity{Tenant: host.LocalTenant, User: "ann"}
				s := submission("t", "go")
				s.User, s.Opening.AgentID = "ann", "lead"
				receipt, err := r.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(500 * time.Millisecond)
				if err := r.CancelRun(t.Context(), id, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				page, err := r.Runs(t.Context(), id, host.RunQuery{Parent: receipt.RunID})
				if err != nil || len(page.Items) != 1 || page.Items[0].Termination == nil || page.Items[0].Termination.Type != want {
					t.Errorf("children %+v, %v; want one that ends as %s", page.Items, err, want)
				}
			})
		})
	}
}

// A child's record has the root of its tree, and the agents above it.
func TestALineageFollowsTheTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []tool.Lineage
		look := tool.New(tool.Spec{Name: "look"}, func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
			got = append(got, c.Lineage())
			return "seen", nil
		})
		parts := agent.Parts{
			Specs: []agent.Spec{
				{ID: "a", Model: "m", Delegates: []string{"b"}}, {ID: "b", Model: "m", Delegates: []string{"c"}}, {ID: "c", Model: "m"},
			},
			Models: map[string]agent.ModelBinding{"m": {Model: scripted.Rules()}}, Tools: []tool.Tool{look},
			Plugins: []plugin.Plugin{delegation.Plugin{}}, Default: "a",
		}
		r := newSolo(t, parts)
		var root core.ID
		for i, text := range []string{
			"call: look", `call: agent_run_b {"prompt":"call: look"}`,
			`call: agent_run_b {"prompt":"call: agent_run_c {\"prompt\":\"call: look\"}"}`,
		} {
			result, err := r.Run(t.Context(), "a", text)
			if err != nil || len(got) != i+1 {
				t.Fatalf("%+v, %v", result, err)
			}
			root = result.Run.ID
			if diff := cmp.Diff(tool.Lineage{Root: root, Agents: []string{"a", "b", "c"}[:i+1]}, got[i]); diff != "" {
				t.Errorf("at depth %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

// A delegate has its part of what its caller's stop policies leave: the tokens that are left are
// divided among the calls of the turn, and the time ends for all at the same moment.
func TestDelegatesHaveAShareOfTheirCallersBudget(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stop  agent.StopSpec
		calls int
		want  string // of each result
	}{
		{"tokens", agent.StopSpec{Type: "token_budget", MaxTotal: 1000}, 2, `{"agent_id":"worker","status":"stopped","stopped":"token_budget","response":"","output":"","steps":3}`},
		{"of one call", agent.StopSpec{Type: "token_budget", MaxTotal: 1000}, 1, `{"agent_id":"worker","status":"completed","response":"did it","output":"did it","steps":5}`},
		{"no tokens left", agent.StopSpec{Type: "token_budget", MaxTotal: 200}, 1, `{"agent_id":"worker","status":"stopped","stopped":"token_budget","response":"","output":"","steps":1}`},
		{"time", agent.StopSpec{Type: "timeout", Seconds: 2}, 2, `{"agent_id":"worker","status":"stopped","stopped":"timeout","response":"","output":"","steps":4}`},
		{"enough time", agent.StopSpec{Type: "timeout", Seconds: 9}, 2, `{"agent_id":"worker","status":"completed","response":"did it","output":"did it","steps":5}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := scripted.Turn{Input: "do it", Usage: core.Usage{Input: 100, Output: 50}, Calls: []core.ToolCall{scripted.Call("work", map[string]int{"n": 1})}}
				turns := []scripted.Turn{{Usage: core.Usage{Input: 150, Output: 50}}, {Text: "all done", Usage: core.Usage{Input: 1}}, turn}
				for range tt.calls {
					turns[0].Calls = append(turns[0].Calls, scripted.Call("agent_run_worker", map[string]string{"prompt": "do it"}))
				}
				turn.Input = ""
				turns = append(turns, turn, turn, turn, scripted.Turn{Text: "did it", Usage: core.Usage{Input: 1}})
				parts := team(&gauge{}, 0, agent.ParallelStreaming)
				parts.Specs[0].Stop = []agent.StopSpec{tt.stop}
				parts.Models["m"] = agent.ModelBinding{Model: scripted.Turns(turns...)}
				r := newSolo(t, parts)
				defer works(t, r)()
				result, err := r.Run(t.Context(), "lead", "go")
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, m := range result.Messages {
					if m.ToolResult != nil {
						got = append(got, m.ToolResult.Text())
					}
				}
				want := make([]string, tt.calls)
				for i := range want {
					want[i] = tt.want
				}
				if diff := cmp.Diff(want, got); diff != "" || result.Text != "all done" {
					t.Errorf("%q, results (-want +got):\n%s", result.Text, diff)
				}
			})
		})
	}
}

// In a batch, a delegate that is over makes room for a call that has no place: the call waits
// for its delegate while the others still work, and no step is taken for nothing.
func TestADelegateMakesRoomInABatch(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.ParallelBatchApproval, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nap := tool.New(tool.Spec{Name: "nap"}, func(ctx context.Context, _ tool.Call, _ struct{}) (string, error) {
					time.Sleep(20 * time.Second)
					return "rested", nil
				})
				first := scripted.Turn{Calls: []core.ToolCall{scripted.Call("agent_run_worker", map[string]string{"prompt": "be quick"})}}
				for range 8 {
					first.Calls = append(first.Calls, scripted.Call("agent_run_worker", map[string]string{"prompt": "be slow"}))
				}
				parts := team(&gauge{}, 0, mode)
				parts.Tools = []tool.Tool{nap}
				parts.Models["m"] = agent.ModelBinding{Model: scripted.Turns(first, scripted.Turn{Text: "all done"},
					scripted.Turn{Input: "be quick", Text: "quick"},
					scripted.Turn{Input: "be slow", Calls: []core.ToolCall{scripted.Call("nap", nil)}}, scripted.Turn{Text: "slow"})}
				r := newSolo(t, parts)
				defer works(t, r)()
				s := submission("t", "go")
				s.Opening.AgentID = "lead"
				receipt, err := r.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				read, err := r.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || read.Status != core.RunWaiting || len(read.Tickets) != 8 {
					t.Fatalf("%+v, %v; want it to wait with 8 tickets", read, err)
				}
				var waits []string
				for _, k := range read.Tickets {
					waits = append(waits, k.CallID[strings.LastIndex(k.CallID, "_")+1:])
				}
				want := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
				if diff := cmp.Diff(want, waits); diff != "" {
					t.Errorf("calls that wait (-want +got):\n%s", diff)
				}
				done, err := r.Await(t.Context(), local, receipt.RunID)
				if err != nil || done.Text != "all done" {
					t.Errorf("%q, %v", done.Text, err)
				}
			})
		})
	}
}

package run_test

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
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// gating is a plugin whose gate has one verdict about the calls of a tool.
func gating(id, name string, verdict plugin.Verdict) plugin.Plugin {
	return pluginFunc{id, func(r *plugin.Registrar) {
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			if c.Call.Name == name {
				return verdict, nil
			}
			return plugin.Allow, nil
		})
	}}
}

func gives(text string) plugin.Verdict {
	return plugin.SetResult(core.ToolResult{Data: json.RawMessage(text), Metadata: map[string]json.RawMessage{"by": json.RawMessage(`"gate"`)}})
}

// abc are three tools that note in one list that they run, and never at once: a takes a
// second, b two, c three.
func abc(ran *[]string) (tools []tool.Tool) {
	var mu sync.Mutex
	for i, name := range []string{"a", "b", "c"} {
		tools = append(tools, toolFunc{name: name, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(time.Duration(i+1) * time.Second)
			mu.Lock()
			defer mu.Unlock()
			if c.Resume != nil {
				*ran = append(*ran, name+" after "+c.Resume.Decision.ID)
			} else {
				*ran = append(*ran, name)
			}
			return tool.NewResult(name + " ran"), nil
		}})
	}
	return tools
}

// What a call comes to when its gates object: the verdict of the highest rank, block
// over suspend over a result, and of equals the first plugin's. A turn of the tools a,
// b and c; b is what the gates are about.
func TestToolGate(t *testing.T) {
	type gate struct {
		name  string
		gates []plugin.Verdict // about b, a plugin each, in this order
		mode  agent.ExecutionMode
		ran   []string // tools that ran
		after []string // what AfterToolExecute was shown
		stand string   // how the round stands, if it waits
		end   string   // or how the run ended
		log   []string // results
	}
	const natural, blocked = `done 2 {"type":"natural_end"} "ok"`, `done 1 {"type":"blocked","detail":"no"} ""`
	all, ac := []string{"a", "b", "c"}, []string{"a", "c"}
	ok := func(b string) []string { return []string{`ok: "a ran"`, b, `ok: "c ran"`} }
	tests := []gate{
		{"allowed by all", []plugin.Verdict{plugin.Allow, plugin.Allow}, agent.Sequential, all, []string{"a ok", "b ok", "c ok"}, "", natural, ok(`ok: "b ran"`)},
		{"a result is given", []plugin.Verdict{plugin.Allow, gives("1")}, agent.Sequential, ac, []string{"a ok", "b set", "c ok"}, "", natural, ok("set: 1")},
		{"the first of two results", []plugin.Verdict{gives("1"), gives("2")}, agent.Sequential, ac, []string{"a ok", "b set", "c ok"}, "", natural, ok("set: 1")},
		{
			"a result that is not JSON", []plugin.Verdict{gives("{")}, agent.Sequential, ac, []string{"a ok", "b error", "c ok"}, "", natural,
			ok("error: a gate has set a result that cannot be stored: the result's data is not JSON"),
		},
		{
			"a result that is too large", []plugin.Verdict{plugin.SetResult(core.ToolResult{Message: strings.Repeat("x", toolcall.MaxResult+1)})}, agent.Sequential,
			ac, []string{"a ok", "b error", "c ok"}, "", natural,
			ok("error: a gate has set a result that cannot be stored: result is larger than 1048576 bytes"),
		},
		{
			"a suspension that no payload could end",
			[]plugin.Verdict{plugin.Suspend(core.TicketRequest{Response: json.RawMessage(`[]`)})}, agent.Sequential,
			ac, []string{"a ok", "b error", "c ok"}, "", natural,
			ok("error: execution failed: the suspension's response schema: not a JSON Schema: it is of type array"),
		},
		{
			"suspend over a result, in a sequential round: what is behind it waits, too", []plugin.Verdict{gives("1"), suspends("s")}, agent.Sequential,
			[]string{"a"}, []string{"a ok"}, "waiting [done suspended new]", "", nil,
		},
		{
			"suspend over a result, in a parallel round: what is behind it runs", []plugin.Verdict{gives("1"), suspends("s")}, agent.ParallelStreaming,
			ac, []string{"a ok", "c ok"}, "waiting [done suspended done]", "", nil,
		},
		{
			"suspend, in a round that waits for all decisions", []plugin.Verdict{suspends("s")}, agent.ParallelBatchApproval,
			ac, []string{"a ok", "c ok"}, "waiting [done suspended done]", "", nil,
		},
		{
			"block over all", []plugin.Verdict{gives("1"), suspends("s"), plugin.Block("no")}, agent.Sequential,
			[]string{"a"}, []string{"a ok", "b blocked"}, "", blocked,
			[]string{`ok: "a ran"`, "blocked: blocked: no", "not_executed: not executed: an earlier call was blocked"},
		},
		{
			"block over all, in a parallel round", []plugin.Verdict{plugin.Block("no"), suspends("s"), gives("1")}, agent.ParallelStreaming,
			[]string{"a"}, []string{"a ok", "b blocked"}, "", blocked,
			[]string{`ok: "a ran"`, "blocked: blocked: no", "not_executed: not executed: an earlier call was blocked"},
		},
		{
			"the first of two blocks", []plugin.Verdict{plugin.Block("no"), plugin.Block("never")}, agent.Sequential,
			[]string{"a"}, []string{"a ok", "b blocked"}, "", blocked,
			[]string{`ok: "a ran"`, "blocked: blocked: no", "not_executed: not executed: an earlier call was blocked"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran, after []string
				plugins := []plugin.Plugin{pluginFunc{"after", func(r *plugin.Registrar) {
					r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
						after = append(after, fmt.Sprint(c.Call.Name, " ", c.Result.Status))
						return state.Command{}, nil
					})
				}}}
				for i, v := range tt.gates {
					plugins = append(plugins, gating(fmt.Sprintf("gate%d", i), "b", v))
				}
				w := newWorld(t, options{
					model: replies(calls("a", "{}", "b", "{}", "c", "{}"), text("ok")), plugins: plugins, mode: tt.mode,
					tools: abc(&ran),
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.ran, ran); diff != "" {
					t.Errorf("tools that ran (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.after, after); diff != "" {
					t.Errorf("what AfterToolExecute was shown (-want +got):\n%s", diff)
				}
				if tt.stand != "" {
					if got := w.stands(t); got != tt.stand {
						t.Errorf("the round is %s, want %s", got, tt.stand)
					}
					return
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				if diff := cmp.Diff(tt.log, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A call that a gate suspended runs when a person has allowed it, and is looked at by
// AfterToolExecute then, once. Those that a sequential round left behind it follow.
func TestToolGateAsksAPerson(t *testing.T) {
	tests := []struct {
		name     string
		mode     agent.ExecutionMode
		decision core.Decision
		ran      []string
		after    []string
		results  []string
	}{
		{"allowed", agent.Sequential, approve, []string{"a", "b after about-s", "c"}, []string{"a ok", "b ok", "c ok"},
			[]string{`ok: "a ran"`, `ok: "b ran" after about-s`, `ok: "c ran"`}},
		{"allowed, in a parallel round", agent.ParallelStreaming, approve, []string{"a", "c", "b after about-s"}, []string{"a ok", "c ok", "b ok"},
			[]string{`ok: "a ran"`, `ok: "b ran" after about-s`, `ok: "c ran"`}},
		{"denied", agent.Sequential, deny, []string{"a", "c"}, []string{"a ok", "c ok"},
			[]string{`ok: "a ran"`, `denied: denied: not today after about-s`, `ok: "c ran"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran, after []string
				w := newWorld(t, options{
					model: replies(calls("a", "{}", "b", "{}", "c", "{}"), text("ok")), mode: tt.mode,
					tools: abc(&ran),
					plugins: []plugin.Plugin{gating("gate", "b", suspends("s")), pluginFunc{"after", func(r *plugin.Registrar) {
						r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
							after = append(after, fmt.Sprint(c.Call.Name, " ", c.Result.Status))
							return state.Command{}, nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.mustDecide(t, 1, tt.decision)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.ran, ran); diff != "" {
					t.Errorf("tools that ran (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.after, after); diff != "" {
					t.Errorf("what AfterToolExecute was shown (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.results, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

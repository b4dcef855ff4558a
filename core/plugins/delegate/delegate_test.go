package delegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/reveille"
)

// call is a text by which the scripted model calls the tool of a delegate.
func call(agent, prompt string) string {
	arguments, _ := json.Marshal(map[string]string{"prompt": prompt})
	return "call: agent_run_" + agent + " " + string(arguments)
}

// program is one of the agents, whose models do what their input says. The first is the default.
func program(specs ...reveille.AgentSpec) (*reveille.Runtime, error) {
	for i := range specs {
		specs[i].Model = "m"
	}
	return reveille.New(reveille.Parts{Specs: specs, Models: reveille.Models{"m": {Model: scripted.Rules()}}, Default: specs[0].ID}, nil)
}

// results are the results of the calls of a thread.
func results(t *testing.T, r *reveille.Runtime, thread string) (list []string) {
	t.Helper()
	for m, err := range r.Messages(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		if m.ToolResult != nil {
			list = append(list, string(m.ToolResult.Status)+" "+m.ToolResult.Text())
		}
	}
	return list
}

func TestADelegateAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		want       []string
	}{
		{"by itself", call("writer", "hello"), []string{`ok {"agent_id":"writer","status":"completed","response":"You said: hello","output":"You said: hello","steps":1}`}},
		{"with a tool of its own", call("writer", "call: agent_run_critic {\"prompt\":\"hi\"}"),
			[]string{`ok {"agent_id":"writer","status":"completed","response":"The result of agent_run_critic: ` +
				`{\"agent_id\":\"critic\",\"status\":\"completed\",\"response\":\"You said: hi\",\"output\":\"You said: hi\",\"steps\":1}","output":"The result of agent_run_critic: ` +
				`{\"agent_id\":\"critic\",\"status\":\"completed\",\"response\":\"You said: hi\",\"output\":\"You said: hi\",\"steps\":1}","steps":2}`}},
		{"stopped by a policy", call("brief", call("critic", "hi")), []string{`ok {"agent_id":"brief","status":"stopped","stopped":"max_rounds","response":"","output":"","steps":1}`}},
		{"no answer", call("writer", "fail"), []string{`error delegation to writer failed: model: scripted model failure`}},
		{"without a prompt", "call: agent_run_writer {}", []string{`invalid invalid arguments: property "prompt" is missing`}},
		{"with a blank prompt", call("writer", " \n"), []string{`invalid invalid arguments: property "prompt": is blank, want a text`}},
		{"itself", call("lead", "hi"), []string{`error delegation to lead failed: cycle lead -> lead`}},
		{"its caller", call("writer", call("lead", "hi")), []string{`ok {"agent_id":"writer","status":"completed","response":"The result of agent_run_lead: ` +
			`delegation to lead failed: cycle lead -> writer -> lead","output":"The result of agent_run_lead: ` +
			`delegation to lead failed: cycle lead -> writer -> lead","steps":2}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := program(
					reveille.AgentSpec{ID: "lead", Delegates: []string{"writer", "brief", "lead"}},
					reveille.AgentSpec{ID: "writer", Delegates: []string{"critic", "lead"}},
					reveille.AgentSpec{ID: "critic"},
					reveille.AgentSpec{ID: "brief", Delegates: []string{"critic"}, MaxRounds: new(1)},
				)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Run(t.Context(), reveille.Input{Thread: "t", Text: tt.says}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, results(t, r, "t")); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A tree of runs has five levels below its root.
func TestATreeIsNoDeeperThanFive(t *testing.T) {
	specs := make([]reveille.AgentSpec, 7)
	for i := range specs {
		specs[i] = reveille.AgentSpec{ID: fmt.Sprintf("a%d", i)}
		if i < 6 {
			specs[i].Delegates = []string{fmt.Sprintf("a%d", i+1)}
		}
	}
	for deepest, want := range map[int]string{
		5: "You said: dig",
		6: "delegation to a6 failed: child: the run is at depth 5 (a0 -> a1 -> a2 -> a3 -> a4 -> a5), where no run starts another",
	} {
		r, err := program(specs...)
		if err != nil {
			t.Fatal(err)
		}
		text := "dig"
		for i := deepest; i > 0; i-- {
			text = call(fmt.Sprintf("a%d", i), text)
		}
		result, err := r.Run(t.Context(), reveille.Input{Text: text})
		if err != nil || !strings.Contains(result.Text, want) {
			t.Errorf("to depth %d: %s, %v; want %s", deepest, result.Text, err, want)
		}
	}
}

// A kept thread remembers the calls before, of one thread and one delegate; a new one does not.
func TestAKeptThreadRemembers(t *testing.T) {
	count := reveille.NewTool(reveille.ToolSpec{Name: "count"}, func(_ context.Context, c reveille.Call, _ struct{}) (string, error) {
		return c.Thread.Thread, nil
	})
	synctest.Test(t, func(t *testing.T) {
		r, err := reveille.New(reveille.Parts{
			Specs: []reveille.AgentSpec{
				{ID: "lead", Model: "m", Delegates: []string{"keeper", "other", "fresh"}, Sections: reveille.Sections(delegate.Section.Setting(delegate.Config{
					Agents: map[string]delegate.Settings{"keeper": {Thread: delegate.ThreadKept}, "other": {Thread: delegate.ThreadKept}, "fresh": {Thread: "new"}},
				}))},
				{ID: "keeper", Model: "m"}, {ID: "other", Model: "m"}, {ID: "fresh", Model: "m"},
			},
			Models: reveille.Models{"m": {Model: scripted.Rules()}}, Tools: []reveille.Tool{count}, Default: "lead",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		threads := map[string][]string{} // of each delegate, in the order of its calls
		for _, of := range [][2]string{{"t1", "keeper"}, {"t1", "keeper"}, {"t2", "keeper"}, {"t1", "other"}, {"t1", "fresh"}, {"t1", "fresh"}} {
			result, err := r.Run(t.Context(), reveille.Input{Thread: of[0], Text: call(of[1], "call: count")})
			if err != nil {
				t.Fatal(err)
			}
			_, name, _ := strings.Cut(result.Text, `The result of count: `)
			name, _, _ = strings.Cut(name, `"`)
			threads[of[1]] = append(threads[of[1]], name)
		}
		k, f := threads["keeper"], threads["fresh"]
		if len(k) != 3 || k[0] != k[1] || k[0] == k[2] || k[0] == threads["other"][0] || f[0] == f[1] || !strings.HasPrefix(k[0], "kept.") || !strings.HasPrefix(f[0], "child.") {
			t.Errorf("threads %v", threads)
		}
		var said []string
		for m, err := range r.Messages(t.Context(), k[0]) {
			if err != nil {
				t.Fatal(err)
			}
			if m.IsInput() {
				said = append(said, m.Text())
			}
		}
		if diff := cmp.Diff([]string{"call: count", "call: count"}, said); diff != "" {
			t.Errorf("the kept thread (-want +got):\n%s", diff)
		}
	})
}

// A person decides for the delegate: the call waits until the delegate is over.
func TestACallWaitsPastAnApproval(t *testing.T) {
	pay := reveille.NewTool(reveille.ToolSpec{Name: "pay", Approval: "Pay?"}, func(context.Context, reveille.Call, struct{}) (string, error) { return "paid", nil })
	for _, tt := range []struct {
		name string
		act  func(reveille.Ticket) reveille.Decision
		want string
	}{
		{"approved", reveille.Approve, `"response":"The result of pay: paid"`},
		{"denied", func(k reveille.Ticket) reveille.Decision { return reveille.Deny(k, "no") }, `"status":"completed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := reveille.New(reveille.Parts{
					Specs:  []reveille.AgentSpec{{ID: "lead", Model: "m", Delegates: []string{"clerk"}}, {ID: "clerk", Model: "m"}},
					Models: reveille.Models{"m": {Model: scripted.Rules()}}, Tools: []reveille.Tool{pay}, Default: "lead",
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				waits, err := r.Run(t.Context(), reveille.Input{Thread: "t", Text: call("clerk", "call: pay")})
				if err != nil || waits.Termination.Type != reveille.TerminationSuspended {
					t.Fatalf("%+v, %v", waits.Termination, err)
				}
				for approval, err := range r.Approvals(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Decide(t.Context(), approval.RunID, tt.act(approval.Ticket)); err != nil {
						t.Fatal(err)
					}
				}
				done, err := r.Wait(t.Context(), waits.Run.ID)
				if err != nil || done.Termination.Type != reveille.TerminationNatural || !strings.Contains(done.Text, tt.want) {
					t.Errorf("%s, %+v, %v; want %s", done.Text, done.Termination, err, tt.want)
				}
			})
		})
	}
}

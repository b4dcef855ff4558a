package agent_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

// A policy of a program's own, in a run: it is a function of what is stored of the run. It is asked
// about every turn, before the turn's calls run.
func ExampleStopFunc_run() {
	noRush := reveille.StopFunc(func(v reveille.StopView) *reveille.Termination {
		if n := len(v.Turn.ToolCalls); n > 1 {
			return reveille.Stop("rush", fmt.Sprintf("%d calls at once in step %d", n, v.Step))
		}
		return nil
	})
	echo := reveille.NewTool(reveille.ToolSpec{Name: "echo", Description: "Says a text back."},
		func(context.Context, reveille.Call, map[string]any) (string, error) { return "", nil })
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "a", Model: "m"}},
		Models: reveille.Models{"m": {Model: scripted.Rules()}},
		Tools:  []reveille.Tool{echo},
		Stops:  []reveille.StopPolicy{noRush},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "parallel: one, two"})
	fmt.Println(result.Termination.Type, result.Termination.Code, result.Termination.Detail, err)
	// Output: stopped rush 2 calls at once in step 1 <nil>
}

// A policy that is a function: it ends a run that has searched three times in a row
// without saying anything.
func ExampleStopFunc() {
	silent := agent.StopFunc(func(v agent.StopView) *core.Termination {
		searches := 0
		for _, m := range append(v.Turns[:len(v.Turns):len(v.Turns)], v.Turn) {
			switch {
			case m.Role != core.RoleAssistant:
			case m.Text() != "":
				searches = 0
			default:
				searches++
			}
		}
		if searches < 3 || !v.GoesOn() {
			return nil
		}
		return &core.Termination{Type: core.TerminationStopped, Code: "silent", Detail: fmt.Sprintf("%d turns without a word", searches)}
	})
	search := core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}
	fmt.Println(silent.Check(agent.StopView{Step: 2, Turn: search, Turns: []core.Message{search}}))
	fmt.Println(silent.Check(agent.StopView{Step: 3, Turn: search, Turns: []core.Message{search, search}}).Detail)
	// Output:
	// <nil>
	// 3 turns without a word
}

// A policy as it stands in an agent's spec.
func ExampleStopSpec() {
	policy, err := agent.StopSpec{Type: agent.StopTokenBudget, MaxTotal: 20000}.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	turn := core.Message{ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}
	end := policy.Check(agent.StopView{Turn: turn, Usage: core.Usage{Input: 19_000, Output: 1_500}})
	fmt.Println(end.Code, "-", end.Detail)
	// Output: token_budget - the run has used 20500 tokens, at most 20000 are allowed
}

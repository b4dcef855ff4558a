package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// Rules decide which calls run; a stop policy ends a run that takes too many steps. Both are
// data of the agent.
func ExamplePermit() {
	rules := reveille.Permissions{
		DefaultBehavior: reveille.RuleDeny, OnDeny: reveille.FailCall,
		Rules: []reveille.PermissionRule{
			{Tool: "weather(name = 'Oslo')", Behavior: reveille.RuleAllow},
			{Tool: "weather", Behavior: reveille.RuleAsk}, // of any other city
		},
	}
	settings := []reveille.Setting{reveille.Permit(rules)}
	call := func(name string) reveilletest.Turn {
		return reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("weather", city{name})}}
	}
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "guide", Model: "m", Plugins: []string{"permission"}, Sections: reveille.Sections(settings...),
			Stop: []reveille.StopSpec{{Type: "max_rounds", Rounds: 3}},
		}},
		Models:  reveille.Models{"m": {Model: reveilletest.Script(call("Oslo"), call("Rome"), call("Oslo"))}},
		Tools:   []reveille.Tool{forecast},
		Plugins: []reveille.Plugin{reveille.PermissionPlugin()},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	result, err := r.Run(ctx, reveille.Input{Text: "Everywhere, please"})
	fmt.Println(result.Tickets[0].Tool, string(result.Tickets[0].Arguments), err)
	if err := r.Decide(ctx, result.Run.ID, reveille.Approve(result.Tickets[0])); err != nil {
		log.Fatal(err)
	}
	result, err = r.Wait(ctx, result.Run.ID)
	fmt.Println(result.Termination.Type == reveille.TerminationStopped, result.Termination.Code, err)
	// Output:
	// weather {"name":"Rome"} <nil>
	// true max_rounds <nil>
}
